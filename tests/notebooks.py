"""Cells of a notebook, run without Jupyter: what they print, the value of a last expression, and figures.

Run as a program, this module runs all notebooks and stores what they show.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from documents import ROOT

FOLDER = ROOT / "docs" / "notebooks"
# Small pictures: a notebook is read in a browser, and kept in the repository.
DOTS_PER_INCH = 80


def run_cell(source: str, names: dict[str, Any]) -> tuple[str, list[bytes]]:
    """All that a cell shows: its text, and its figures as PNG."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                print(value.to_string() if hasattr(value, "to_string") else repr(value))
    return printed.getvalue(), _figures()


def _figures() -> list[bytes]:
    """The open figures, which are closed."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    pyplot, pictures = sys.modules["matplotlib.pyplot"], []
    for number in pyplot.get_fignums():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture, dpi=DOTS_PER_INCH, metadata={"Software": None})
        pictures.append(picture.getvalue())
    pyplot.close("all")
    return pictures


def shown(outputs: list[dict[str, Any]]) -> tuple[str, list[bytes]]:
    """What the stored outputs of a cell show."""
    texts = [line for output in outputs for line in output.get("text", ())]
    pictures = [output["data"]["image/png"] for output in outputs if "data" in output]
    return "".join(texts), [base64.b64decode(picture) for picture in pictures]


def stored(text: str, pictures: list[bytes]) -> list[dict[str, Any]]:
    """The outputs of a cell as a notebook stores them."""
    outputs: list[dict[str, Any]] = []
    if text:
        outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)})
    for picture in pictures:
        data = {"image/png": base64.b64encode(picture).decode()}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return outputs


def fill(path: Path) -> None:
    """Run a notebook and store its outputs."""
    content = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = stored(*run_cell("".join(cell["source"]), names))
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "Agg"
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            fill(notebook)
