"""Cells of a notebook, run without Jupyter: what they print, and the value of a last expression."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any


def run_cell(source: str, names: dict[str, Any]) -> str:
    """All that a cell shows, as text."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                print(value.to_string() if hasattr(value, "to_string") else repr(value))
    return printed.getvalue()
