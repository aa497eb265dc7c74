"""The documentation as a site: `make docs`. Pages are those that are read in the repository."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

import blindcal

project, author, release = "blindcal", "", blindcal.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
napoleon_numpy_docstring, napoleon_use_rtype, napoleon_use_ivar, napoleon_attr_annotations = (
    False,
    False,
    True,
    False,
)
exclude_patterns = ["numbers"]
html_theme, html_title, html_copy_source, html_show_sphinx = "furo", "blindcal", False, False
html_show_copyright, html_static_path, html_css_files = False, ["static"], ["site.css"]
# Copied are commands and input, never prompts and what is printed.
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. (?= )|\$ ", True
copybutton_line_continuation_character = "\\"
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"
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


def _put_root_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """In place of an `include`, the page of the repository's root, with its links as seen from docs."""

    def page(found: re.Match[str]) -> str:
        path = Path(app.srcdir) / found[1]
        app.env.note_dependency(str(path))
        text = re.sub(r"\]\(docs/", "](", path.read_text(encoding="utf-8"))
        for root in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
            text = text.replace(f"]({root}", f"]({root.lower()}")
        return text

    source[0] = re.sub(r"```{include} (\S+)\n```", page, source[0])


def _write_packages(app: Sphinx) -> None:
    """Write reference/python/<package>.rst for each package: its docstring, and all that it exports."""
    folder = Path(app.srcdir) / "reference" / "python"
    folder.mkdir(exist_ok=True)
    seen: set[object] = set()
    for package in (name for name in blindcal.__all__ if inspect.ismodule(getattr(blindcal, name))):
        path, text = folder / f"{package}.rst", "\n".join(_package(package, seen))
        # An unchanged file is not read again.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _package(package: str, seen: set[object]) -> Iterator[str]:
    """The page of a package; names that an earlier package has are left out."""
    module = import_module(f"blindcal.{package}")
    title = f"blindcal.{package}"
    yield from (title, "=" * len(title), "", *_prose((module.__doc__ or "").splitlines()), "")
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if (inspect.isclass(value) or inspect.isfunction(value)) and value not in seen:
            seen.add(value)
            kind = "autoclass" if inspect.isclass(value) else "autofunction"
            yield from (
                f".. {kind}:: {value.__module__}.{value.__qualname__}",
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


class NotebookParser(MystParser):
    """A notebook with the outputs that are stored in it; tests compare them with what its cells show."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: Any) -> None:
        super().parse("\n\n".join(map(_cell, json.loads(inputstring)["cells"])), document)


def _cell(cell: dict[str, Any]) -> str:
    """A cell of a notebook in Markdown."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    parts = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        if "text" in output:
            parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
        else:
            picture = output["data"]["image/png"]
            parts.append(f'<img alt="Figure drawn by the cell above" src="data:image/png;base64,{picture}">')
    return "\n\n".join(parts)


def setup(app: Sphinx) -> None:
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.connect("autodoc-process-signature", _signature)
    app.connect("builder-inited", _write_packages)
    app.connect("source-read", _put_root_pages)
    # Before napoleon makes lists of the sections.
    app.connect("autodoc-process-docstring", _docstring, priority=400)
