"""CMT: numbers of reviews are not people."""

from __future__ import annotations

from exports import refused


def test_cmt_numbers_of_reviews_are_not_people() -> None:
    data = b"Paper ID\tReviewer Number\tQ1 (Overall - Value)\n1\t1\t3\n1\t2\t4\n2\t1\t3\n"
    refused(data, "must have the column Reviewer Email: Reviewer Number only counts the reviews of a paper")
