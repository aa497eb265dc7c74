"""Names of a package that load when they are first used, each declared once.

The `__init__.py` of a package imports its public names under `TYPE_CHECKING`, for type checkers and editors.
`lazy_names` reads those lines, so that the same names are found when somebody asks for them.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package, from the imports of its `TYPE_CHECKING` block.

    Public are these names, and those that the package assigns itself.

    Args:
        package: Its full name; it is being imported.

    Example:
        >>> import blindcal
        >>> blindcal.frontier.__module__, "frontier" in dir(blindcal), "import_module" in dir(blindcal)
        ('blindcal.policy.pareto_frontier', True, False)
    """
    module = sys.modules[package]
    body = ast.parse(inspect.getsource(module)).body
    homes = _homes(next(node for node in body if isinstance(node, ast.If)))
    public = sorted({*homes, *_assigned(body)})

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(module, name, value)
        return value

    return public, find, lambda: public


def _homes(block: ast.If) -> dict[str, str]:
    """The module that each name is imported from; the package itself, if it is one of its modules."""
    imports = (node for node in block.body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def _assigned(body: list[ast.stmt]) -> list[str]:
    """The public names that a module assigns at its top level."""
    targets = (target for node in body if isinstance(node, ast.Assign) for target in node.targets)
    return [target.id for target in targets if isinstance(target, ast.Name) and target.id[0] != "_"]
