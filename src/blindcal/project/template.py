"""The text of a new conference.toml: every setting with what it means, as `settings` declares it."""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence

from blindcal.cells import number_text
from blindcal.project.settings import SECTIONS, Declaration, Value

_WIDTH = 100


_OPENING = """\
{name}: what `blindcal fit`, `plan`, `decide`, `select`, `verify`, `audit`, `report` and `export` read \
when they are given this folder.

Files are named relative to this folder. A line that starts with # does nothing: remove the # to use it.

Once papers are decided, the share to accept, the guarantee with its limits and the better end of the \
scale are frozen: with other values `decide` is refused. Another exact number of papers is what `select` \
is for.

WHAT IS SECRET. inputs/ says who reviewed what: confidential. {out}/ is made to be sent on as it is, to \
whoever may see the scores: if that is not everyone, scores must be "confidential" below. The key \
({key}) and its sealed record (the same name with .sealed) lie beside this folder, so that whoever packs the \
folder does not pack them: with the key and the decisions, much of who reviewed what can be worked out.

WHO HOLDS THE KEY. The chair who decides, and at most one other person who may know all reviewers: a \
co-chair, or an auditor. Hand a copy over in person or encrypted, never by plain email, and always with the \
whole sealed record. Only one of them decides; the other brings the record up to date after each `decide`. \
Next year's chairs need neither: they need the reviews, for their own calibration, and make their own key.

HOW LONG. Keep key and record until nobody will ask for a correction or a check any more; then delete both, \
with all backups. Keep inputs/ as long as your conference keeps reviews: they serve next year's calibration. \
Keep {out}/ forever. Deleted files can survive in snapshots and on flash memory: keep the key on an \
encrypted disk, so that destroying that disk's password deletes it.
"""

_NOTES = """
# ---- Withdrawn papers ----
# Left out by every command, whatever the tables say. If they are decided already, run `decide` with
# --amend --reason: the sealed record then says that they were withdrawn. One line for each:
[withdrawn]
{withdrawn}

# ---- Decisions overridden by hand ----
# `export` writes them in place of blindcal's and marks them as overridden. The certificate is about
# blindcal's decisions: what an override reveals is not in it. One line for each:
[overridden]
# "23" = "accept: the committee found an error in a review"
"""
_WITHDRAWN = '# "17" = "by its authors, May 3"'


def conference_text(settings: Mapping[str, Value], withdrawn: Mapping[str, str] | None = None) -> str:
    """The text of a new conference.toml; what is not set stands there as an example behind a `#`.

    `settings`: values by the names of settings; `conference`, `key` and `out` must be among them.
    `withdrawn`: the reason for each paper that was withdrawn; by default none was.
    """
    opening = _OPENING.format(name=settings["conference"], key=settings["key"], out=settings["out"])
    paragraphs = "\n#\n".join(_comment(paragraph) for paragraph in opening.strip().split("\n\n"))
    sections = (
        f"\n# ---- {title} ----\n" + "\n".join(_lines(rows, settings)) for title, rows in SECTIONS.items()
    )
    gone = [f"{toml_value(paper)} = {toml_value(reason)}" for paper, reason in (withdrawn or {}).items()]
    notes = _NOTES.format(withdrawn="\n".join(gone or [_WITHDRAWN])).rstrip("\n")
    return "\n".join([paragraphs, *sections, notes, ""])


def with_settings(text: str, settings: Mapping[str, Value | None]) -> str:
    """The `text` of a conference.toml with other `settings`; all else stays as it is.

    Lines whose value is None go behind a `#`. A line that is not there yet is added before the tables of
    papers.
    """
    entries = _entries(text)
    end = next((at for at, entry in enumerate(entries) if entry.lstrip().startswith("[")), len(entries) - 1)
    for name, value in settings.items():
        pattern = re.compile(rf"\s*(# )?[\"']?{re.escape(name)}[\"']?\s*=")
        marks = [(at, match[1]) for at, entry in enumerate(entries[:end]) if (match := pattern.match(entry))]
        set_at = [at for at, mark in marks if not mark]
        if value is None:
            for at in set_at:
                entries[at] = f"# {entries[at]}".replace("\n", "\n# ")
        elif marks:
            entries[(set_at or [marks[0][0]])[0]] = f"{name} = {toml_value(value)}"
        else:
            entries.insert(end, f"{name} = {toml_value(value)}")
            end += 1
    return "\n".join(entries)


def _entries(text: str) -> list[str]:
    """The lines of a conference.toml; a setting that spans several of them is one entry.

    >>> _entries("past = [\\n  'a.csv',\\n]\\n# grid = 1\\n")
    ["past = [\\n  'a.csv',\\n]", '# grid = 1', '']
    """
    entries, entry = [], ""
    for line in text.split("\n"):
        entry = f"{entry}\n{line}" if entry else line
        try:
            tomllib.loads(f"{entry}\n")
        except tomllib.TOMLDecodeError:
            continue
        entries.append(entry)
        entry = ""
    return [*entries, entry] if entry else entries


def _lines(rows: Sequence[Declaration], settings: Mapping[str, Value]) -> Iterator[str]:
    """A comment and a line for each setting; one that is not set stands there as an example."""
    for row in rows:
        yield _comment(row.sentence)
        mark = "" if row.name in settings else "# "
        yield f"{mark}{row.name} = {toml_value(settings.get(row.name, row.example))}"


def _comment(text: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def toml_value(value: Value) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, str):
        # JSON's texts are TOML's, but for one character that TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(toml_value, value))}]"
