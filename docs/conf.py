"""The documentation as a site: `make docs`. Pages are those that are read in the repository."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import blindcal

project, author, release = "blindcal", "", blindcal.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
napoleon_numpy_docstring, napoleon_use_rtype, napoleon_use_ivar, napoleon_attr_annotations = (
    False,
    False,
    True,
    False,
)
exclude_patterns = ["numbers"]
html_theme, html_title, html_copy_source, html_show_sphinx = "alabaster", "blindcal", False, False
html_theme_options = {"description": "Private calibration of peer review", "page_width": "1100px"}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
myst_heading_anchors, myst_enable_extensions = 3, ["dollarmath"]
# Pages also link to files of the repository, and name languages of blocks that tests know and Pygments not.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure", "myst.header"]
default_role, autodoc_typehints, autodoc_member_order = "code", "signature", "bysource"
add_module_names = False
autodoc_type_aliases = {
    name: name for name in ("Array", "ArrayLike", "Exact", "Integers", "Level", "Progress", "Workers")
}
autodoc_preserve_defaults, python_maximum_signature_line_length = True, 100
# From a file, without a server, a browser fetches no page to quote from.
html_show_search_summary = False


class Packages(SphinxDirective):
    """A section for the top level and for each package, with everything that it names."""

    def run(self) -> list[nodes.Node]:
        seen: set[object] = set()
        text = [line for name in ("", *blindcal._PACKAGES) for line in _section(name, seen)]
        lines = StringList(text, "packages")
        place = nodes.section()
        self.state.nested_parse(lines, self.content_offset, place, match_titles=1)
        return list(place.children)


def _section(package: str, seen: set[object]) -> Iterator[str]:
    """The title of a package, what it says of itself, and its names but for those seen above."""
    module = import_module(f"blindcal.{package}" if package else "blindcal")
    title = f"blindcal.{package}" if package else "blindcal"
    yield from (title, "-" * len(title), "", *_prose((module.__doc__ or "").splitlines()), "")
    for name in getattr(module, "__all__", ()):
        found = getattr(module, name)
        home = getattr(found, "__module__", "")
        if (inspect.isclass(found) or inspect.isfunction(found)) and found not in seen:
            seen.add(found)
            kind = "autoclass" if inspect.isclass(found) else "autofunction"
            yield from (
                f".. {kind}:: {home}.{found.__qualname__}",
                "   :members:" * (kind == "autoclass"),
                "",
            )


def _prose(lines: list[str]) -> list[str]:
    """Plain text as reStructuredText: what stands for itself there, and lines that are set off as code."""
    found: list[str] = []
    for line in lines:
        text = re.sub(r"(?<![`\w])([\w.]+_)(?!\w)", r"\\\1", line) if not line.startswith("    ") else line
        if line.startswith("    ") and (not found or not found[-1].strip()):
            found += ["::", ""]
        bullet = "* " if text.startswith("* ") else ""
        found.append(
            bullet + text.removeprefix(bullet).replace("*", r"\*") if not line.startswith("    ") else text
        )
    return found


def _docstring(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Outside examples, which end with an empty line, text stands for itself."""
    found, example = [], False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        found.append(line if example else re.sub(r"([*|])", r"\\\1", line))
    lines[:] = found


def _signature(
    app: Sphinx, what: str, name: str, obj: object, options: Any, given: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Names of types within unions, too, as they are written."""
    plain = (part and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", part) for part in (given, returned))
    return next(plain), next(plain)


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-signature", _signature)
    app.add_directive("packages", Packages)
    # Before napoleon makes lists of the sections.
    app.connect("autodoc-process-docstring", _docstring, priority=400)
