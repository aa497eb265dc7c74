"""Fill in what pages quote from the package: promises, settings, fields of the certificate.

A page marks a place with `<!-- quote: promise crowd among=10 epsilon=3 -->` and `<!-- end -->`. Run this
program to fill all places; a test compares them. The quotes are

    promise NAME [LIMIT=VALUE ...] [in short]   what a guarantee promises; in short: the first sentences
    promises                                    each guarantee and each limit, with an example of its value
    settings                                    conference.toml
    certificate PART                            fields of the certificate, by part of its explanation
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from blindcal.deciding.certificate_fields import PARTS, Field
from blindcal.policy.guarantee import GUARANTEES, LIMITS, Guarantee
from blindcal.project.settings import SECTIONS, Declaration
from blindcal.report.wording import conditions, fill, promises

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
QUOTE = re.compile(r"(<!-- quote: (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """The text of a page with all its quotes."""
    return QUOTE.sub(lambda match: f"{match[1]}{quoted(match[2])}\n{match[3]}", page)


def quoted(request: str) -> str:
    kind, _, rest = request.partition(" ")
    if kind == "promise":
        return "\n".join(_promise(rest))
    if kind == "promises" and not rest:
        return "\n".join(_promises())
    if kind == "settings" and not rest:
        return "\n".join(_settings())
    if kind == "certificate" and rest in PARTS:
        return "\n".join(_certificate(rest))
    raise ValueError(f"nothing to quote is called {request!r}")


def _promise(request: str) -> Iterator[str]:
    name, *limits = request.removesuffix(" in short").split()
    if name not in GUARANTEES:
        raise ValueError(f"nothing to quote is called {request!r}")
    given = {key: float(value) for key, _, value in (limit.partition("=") for limit in limits)}
    whole = {key: int(value) if LIMITS[key].whole else value for key, value in given.items()}
    guarantee = Guarantee(name, **{"epsilon": None, **whole})
    more = [] if request.endswith(" in short") else conditions(guarantee)
    yield from (f"* {sentence}" for sentence in [*promises(guarantee), *more])


def _promises() -> Iterator[str]:
    yield from ("| guarantee or limit | promise |", "|---|---|")
    for name, kind in GUARANTEES.items():
        yield f"| `{name}` | {fill(f'{kind.promise} {kind.conditions}'.strip(), kind.needs)} |"
    for name, limit in LIMITS.items():
        if limit.replaces not in GUARANTEES or limit.promise != GUARANTEES[limit.replaces].promise:
            setting = f"`{name.replace('_', '-')} = {limit.example:g}`"
            yield f"| {setting} | {fill(limit.promise, {name: limit.example})} |"


_KINDS = {
    "text": "text",
    "texts": "list of texts",
    "file": "file",
    "files": "list of files",
    "pools": "file or `everyone`",
    "number": "number",
    "papers": "number, or by track",
    "limit": "number or `none`",
    "grid": "scores",
    "flag": "`true`",
}


def _settings() -> Iterator[str]:
    yield from ("| setting | value | example | meaning |", "|---|---|---|---|")
    for rows in SECTIONS.values():
        for name, row in rows.items():
            default = f" Default: `{row.default}`." if row.default else ""
            kind, meaning = _KINDS[row.kind], _cell(row.sentence + default)
            yield f"| `{name}` | {kind} | `{_example(row)}` | {meaning} |"


def _example(row: Declaration) -> str:
    value = row.example
    if isinstance(value, bool):
        return "true"
    if isinstance(value, float | int):
        return f"{value:g}"
    return f'"{value}"' if isinstance(value, str) else "[" + ", ".join(f'"{one}"' for one in value) + "]"


def _certificate(part: str) -> Iterator[str]:
    yield from ("| field | value | meaning |", "|---|---|---|")
    for row in PARTS[part]:
        yield from _field(row, "", False)


def _field(row: Field, within: str, withheld: bool) -> Iterator[str]:
    withheld = withheld or row.withheld
    value = "object" if row.kind is None else re.sub(r"^must be (an? )?", "", row.kind.rule)
    value += ", or null" if row.nullable else ""
    value += "; optional" if row.optional else ""
    mark = " †" if withheld else ""
    yield f"| `{within}{row.name}`{mark} | {value} | {_cell(row.description)} |"
    for one in row.fields:
        yield from _field(one, f"{row.name}.", withheld)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def main() -> None:
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            path.write_text(new, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
