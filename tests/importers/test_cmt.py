"""CMT: numbers of reviews are not people, and all tracks have one score."""

from __future__ import annotations

from exports import BY_NAME, refused


def test_cmt_numbers_of_reviews_are_not_people() -> None:
    data = b"Paper ID\tReviewer Number\tQ1 (Overall - Value)\n1\t1\t3\n1\t2\t4\n2\t1\t3\n"
    refused(data, "must have the column Reviewer Email: Reviewer Number only counts the reviews of a paper")


def test_tracks_with_different_scores_are_refused() -> None:
    tracks = BY_NAME["cmt/two-tracks.xls"].data.decode()
    start = tracks.index("Industry")
    other = tracks[:start] + tracks[start:].replace("Overall score", "Merit")
    refused(other.encode(), "must have one score in all tracks: say which with `score_field`")
