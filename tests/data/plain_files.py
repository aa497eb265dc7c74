"""Tables of reviews as chairs have them who use no conference system: what forms and spreadsheets write.

The same made-up reviews stand in each file, so that all must give the same table.
"""

from __future__ import annotations

from blindcal.exporters.formats import workbook

NAMES = ("Ada Byron", "Bo Chen", "Cy Diaz", "Eva Fermi", "Gus Hill", "Ida Jones", "Kai Levy", "Mia Noor")
PAPERS = tuple(f"P{number:02d}" for number in range(1, 13))
TITLES = {paper: f"On {word}" for paper, word in zip(PAPERS, "ABCDEFGHIJKL", strict=True)}
COLUMNS = ["paper", "reviewer", "score"]
# Paper, person and score, three for each paper.
REVIEWS = tuple(
    (paper, NAMES[(3 * number + turn * (1 + number % 3)) % len(NAMES)], (5 * number + 7 * turn) % 10 + 1)
    for number, paper in enumerate(PAPERS)
    for turn in range(3)
)


def email(name: str) -> str:
    return f"{name.lower().replace(' ', '.')}@example.org"


def csv_of(header: list[str], rows: list[list[str]], separator: str = ",") -> bytes:
    def cell(text: str) -> str:
        return f'"{text}"' if separator in text or "\n" in text else text

    return "".join(separator.join(map(cell, row)) + "\n" for row in [header, *rows]).encode()


def given(paper: str, name: str) -> str:
    """The score of a person for a paper; empty if there is none."""
    return next((f"{score}" for p, who, score in REVIEWS if (p, who) == (paper, name)), "")


def google_form() -> bytes:
    header = ["Timestamp", "Email Address", "Which paper did you review?"]
    header += ["Overall score (1 = worst, 10 = best)", "How confident are you?", "Comments for the committee"]
    rows = [
        [f"3/{day % 28 + 1}/2027 10:{day:02d}:00", email(name), paper, f"{score}", "4", "Fine, on the whole."]
        for day, (paper, name, score) in enumerate(REVIEWS)
    ]
    return csv_of(header, rows)


def microsoft_form() -> bytes:
    header = ["ID", "Start time", "Completion time", "Email", "Name", "Paper number", "Overall rating"]
    rows = [
        [f"{place}", "46000.5", "46000.6", email(name), name, paper, f"{score}"]
        for place, (paper, name, score) in enumerate(REVIEWS, start=1)
    ]
    return workbook(header, rows, "Form1")


def german() -> bytes:
    header = ["Beitrag", "Titel", "Gutachter", "E-Mail", "Gesamtnote"]
    rows = [
        [paper, TITLES[paper], name, email(name), f"{score},0".replace(",0", ",5" if score == 3 else ",0")]
        for paper, name, score in REVIEWS
    ]
    return csv_of(header, rows, ";")


def ojs_report() -> bytes:
    header = ["Stage", "Round", "Submission Title", "Submission ID", "Reviewer", "Email", "Date Assigned"]
    header += ["Recommendation", "Comments on Submission"]
    words = ("Decline Submission", "Resubmit for Review", "Revisions Required", "Accept Submission")
    rows = [
        ["Review", "1", TITLES[p], p, name, email(name), "2027-03-01", words[min(3, score // 3)], "Good."]
        for p, name, score in REVIEWS
    ]
    return csv_of(header, rows)


def matrix() -> bytes:
    """A row for each paper, a column for each person."""
    rows = [[paper, TITLES[paper], *(given(paper, name) for name in NAMES)] for paper in PAPERS]
    return csv_of(["Paper", "Title", *NAMES], rows)


def transposed_matrix() -> bytes:
    """A row for each person, a column for each paper."""
    rows = [[name, *(given(paper, name) for paper in PAPERS)] for name in NAMES]
    return csv_of(["Reviewer", *PAPERS], rows)


def long(*header: str, separator: str = ",", score: str = "{}") -> bytes:
    """A row for each review, under these names for paper, person and score."""
    rows = [[paper, name, score.format(value)] for paper, name, value in REVIEWS]
    return csv_of([*(header or COLUMNS)], rows, separator)


def wide() -> bytes:
    """A row for each paper: who wrote its reviews, and their scores."""
    header = [
        "Paper ID",
        "Title",
        *(f"{what} {turn}" for turn in (1, 2, 3) for what in ("Reviewer", "Score")),
    ]
    rows = []
    for paper in PAPERS:
        cells = [cell for p, name, score in REVIEWS if p == paper for cell in (name, f"{score}")]
        rows.append([paper, TITLES[paper], *cells])
    return csv_of(header, rows)


def two_scores(first: str = "Score before the discussion", second: str = "Score after it") -> bytes:
    header = ["Paper", "Reviewer", first, second]
    return csv_of(header, [[p, name, f"{max(1, s - 1)}", f"{s}"] for p, name, s in REVIEWS])


def answered_twice() -> bytes:
    """A form that one person filled in again for the same paper."""
    paper, name, score = REVIEWS[4]
    first = [[paper, name, f"{score % 10 + 1}"]]
    return csv_of(COLUMNS, [*first, *([p, who, f"{s}"] for p, who, s in REVIEWS)])


def with_dashes() -> bytes:
    """People who were asked, and wrote nothing."""
    missing = [f"{PAPERS[0]},{name},-\n" for name in NAMES if not given(PAPERS[0], name)]
    return long() + "".join(missing).encode()


def titled_papers() -> bytes:
    rows = [[f"{p}: {TITLES[p]}", name, f"{score}"] for p, name, score in REVIEWS]
    return csv_of(["Paper", "Reviewer", "Score"], rows)


def averages() -> bytes:
    rows = [[paper, TITLES[paper], "5.3", "3"] for paper in PAPERS]
    return csv_of(["Paper ID", "Title", "Average score", "Reviews"], rows)


def criteria() -> bytes:
    """Marks for three criteria, none of which is the score."""
    rows = [[p, name, f"{s}", f"{s % 5 + 1}", f"{s % 3 + 1}"] for p, name, s in REVIEWS]
    return csv_of(["Submission", "Referee", "Novelty", "Clarity", "Rigour"], rows)


def nameless() -> bytes:
    return csv_of(["Paper", "Score"], [[p, f"{s}"] for p, _, s in REVIEWS])


def with_a_total() -> bytes:
    """A last row with an average, as spreadsheets have it."""
    return long() + b"Average,,5.5\n"
