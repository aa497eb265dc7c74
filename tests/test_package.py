"""The package as a whole: names, versions, layers, and what must not be in it."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import blindcal
from layers import LAYERS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "blindcal"
MODULES = sorted(SOURCE.rglob("*.py"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Names that say nothing.
EMPTY_NAMES = {"utils.py", "types.py", "helpers.py"}
OPTIONAL = {
    "typer",
    "rich",
    "joblib",
    "jinja2",
    "dask",
    "distributed",
    "matplotlib",
    "opendp",
    "pandas",
    "fastapi",
    "starlette",
    "uvicorn",
}
TEXTS = {".py", ".md", ".toml", ".txt", ".csv", ".json", ".cff", ""}
OUTSIDE_THE_CORE = (
    "blindcal.app",
    "blindcal.cli",
    "blindcal.report.html_page",
)


def names_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def imports(path: Path) -> Iterator[str]:
    """Modules imported anywhere in a file; for `from a import b` both `a` and `a.b`."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_public_name_exists_and_is_listed_once() -> None:
    assert len(set(blindcal.__all__)) == len(blindcal.__all__)
    for name in blindcal.__all__:
        assert getattr(blindcal, name) is not None


def test_functions_do_not_shadow_modules() -> None:
    for package in [path.parent for path in MODULES if path.name == "__init__.py"]:
        face = importlib.import_module(names_of(package / "__init__.py"))
        modules = {path.stem for path in package.iterdir()} & set(getattr(face, "__all__", ()))
        assert all(isinstance(getattr(face, name), ModuleType) for name in modules), package.name


def test_the_public_face_is_small() -> None:
    names = {name for name in blindcal.__all__ if not isinstance(getattr(blindcal, name), ModuleType)}
    assert len(names) < 40
    assert {*blindcal.__all__} - names <= {*LAYERS}


PAIR = """import blindcal as bc
pair = bc.pair_belief((bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)), [0.9, 0.4])
pair.frontier().policy(adversary_error=0.1)"""
# Every process that helps to decide loads the core anew: SciPy's statistics alone take as long as the rest.
LOADED = {
    "import blindcal": {"numpy", "scipy", "highspy"} | OPTIONAL,
    PAIR: {"blindcal.pools", "blindcal.posterior.conference", "highspy", "scipy.special"},
    "import blindcal.adversaries, blindcal.deciding.decide": {
        f"scipy.{part}" for part in ("stats", "optimize", "interpolate", "differentiate", "linalg")
    },
}


@pytest.mark.parametrize("program", LOADED)
def test_nothing_is_loaded_that_takes_long_and_is_not_used(program: str) -> None:
    asked = f"{program}\nimport sys; print(sorted({LOADED[program]!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["[]"], done.stderr


def test_versions_agree() -> None:
    """The version stands in the package; the build reads it there, and whoever cites or reads is told it."""
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "src/blindcal/__init__.py"
    assert "version" in PYPROJECT["project"]["dynamic"]
    # What pip calls an editable copy is as old as its installation; that of the wheel is new.
    assert "BLINDCAL_WHEEL" not in os.environ or metadata.version("blindcal") == blindcal.__version__
    assert f"## {blindcal.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {blindcal.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_source_archive_has_all_that_is_tracked_but_what_serves_the_repository_alone() -> None:
    listed = {*PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]}
    always = {"pyproject.toml", "README.md", "LICENSE", ".gitignore"}
    alone = {".ci", ".github", ".gitattributes", ".pre-commit-config.yaml"}
    tracked = {name.split("/")[0] for name in _tracked()}
    assert not tracked or tracked == listed | always | (alone & tracked)


def test_the_guide_for_contributors_names_files_and_verbs_that_exist() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:(?:src|docs|studies|bench|requirements)\b|[A-Z]+\.)[\w./-]*)`", guide))
    assert len(paths) > 25
    assert not [path for path in paths if not (ROOT / path).exists()]
    source = "".join(path.read_text(encoding="utf-8") for path in MODULES)
    assert not [name for name in re.findall(r"`(_\w+)`", guide) if not re.search(rf"\b{name}\b", source)]
    verbs = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert verbs
    assert {*re.findall(r"^\| `make ([\w-]+)` \|", guide, re.M)} == {*verbs[1].split()}


def test_every_layer_is_in_the_guide_for_contributors() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \|", guide, re.M)
    assert [layer for cell in cells for layer in re.findall(r"[a-z_]+", cell)] == LAYERS


def test_the_core_needs_numpy_scipy_and_highspy_only() -> None:
    required = [re.match(r"[a-z]+", item) for item in PYPROJECT["project"]["dependencies"]]
    assert [match[0] for match in required if match] == ["numpy", "scipy", "highspy"]
    for path in MODULES:
        if not names_of(path).startswith(OUTSIDE_THE_CORE):
            used = {name.split(".")[0] for name in imports(path)} & OPTIONAL
            assert not used, f"{path.name} imports {used}"


def test_pins_satisfy_what_the_package_asks_for() -> None:
    pinned = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "requirements").glob("*.txt"))
    pins = dict(re.findall(r"^([A-Za-z0-9_.-]+)==([0-9.]+)(?: \\)?$", pinned, re.M))
    extras = PYPROJECT["project"]["optional-dependencies"]
    asked = [*PYPROJECT["project"]["dependencies"], *(item for items in extras.values() for item in items)]
    for item in asked:
        match = re.fullmatch(r"([a-z0-9]+)>=([0-9.]+)", item)
        if match:
            assert _version(pins[match[1]]) >= _version(match[2])
        else:
            assert item.startswith("blindcal[")


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def layer_of(module: str) -> str:
    return module.split(".")[1]


def inner_imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, anywhere in it."""
    known = {names_of(other) for other in MODULES}
    return {name for name in imports(path) if name in known and "." in name} - {names_of(path)}


def test_every_module_is_in_a_layer() -> None:
    inner = {names_of(path) for path in MODULES} - {"blindcal", "blindcal.__main__"}
    assert {layer_of(name) for name in inner} == set(LAYERS)


@pytest.mark.parametrize("path", [p for p in MODULES if p.parent != SOURCE or p.stem in LAYERS], ids=names_of)
def test_imports_point_backward_along_the_line_only(path: Path) -> None:
    """A layer may import itself and the layers before it; the edges, at the end, import the core and never
    the reverse."""
    own = LAYERS.index(layer_of(names_of(path)))
    ahead = {name for name in inner_imports(path) if LAYERS.index(layer_of(name)) > own}
    assert not ahead, f"{names_of(path)} imports {sorted(ahead)}"


# Methods that call functions of later layers, which the whole package finds when they are called.
FOUND_WHEN_CALLED = {"blindcal.posterior.belief": {"frontier", "policy", "audit"}}


def test_only_methods_that_are_listed_reach_functions_of_later_layers() -> None:
    using = {names_of(path): uses for path in MODULES if (uses := functions_using_the_package(path))}
    assert using == FOUND_WHEN_CALLED


def functions_using_the_package(path: Path) -> set[str]:
    """The functions that use a name which the whole package finds, outside annotations."""
    return {
        function.name
        for function in nodes(path)
        if isinstance(function, ast.FunctionDef)
        for line in function.body
        for node in ast.walk(line)
        if isinstance(node, ast.Attribute) and node.attr in blindcal.__all__
        if isinstance(node.value, ast.Name) and node.value.id == "blindcal"
    }


def test_imports_have_no_cycle() -> None:
    graph = {names_of(path): inner_imports(path) for path in MODULES}
    # A package's own names come from its modules; these never ask the package for them.
    packages = {names_of(path) for path in MODULES if path.name == "__init__.py"}
    graph = {name: targets - packages for name, targets in graph.items() if name not in packages}
    done: set[str] = set()
    while len(done) < len(graph):
        ready = {name for name in graph.keys() - done if graph[name] <= done}
        assert ready, f"a cycle among {sorted(graph.keys() - done)}"
        done |= ready


def test_every_layer_says_what_comes_in_what_goes_out_and_what_it_imports() -> None:
    layers = sorted(SOURCE.glob("*/__init__.py"))
    assert {"io", "cli"} < {path.parent.name for path in layers} < set(LAYERS)
    for path in layers:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert all(word in text for word in ("In:", "Out:", "Imports:")), path.parent.name


# Tests by purpose, and those that are about all modules of a package.
BY_PURPOSE = {"attacks", "browser", "live", "pages", "platforms", "studies"}
OF_SEVERAL_MODULES = {
    "package", "data_flow", "cli/json", "calibrators/compare", "calibrators/peers",
    "importers/importers", "importers/decided_papers", "importers/plain_files", "importers/random",
    "importers/systems",
}  # fmt: skip


def test_tests_mirror_the_source_tree() -> None:
    """`tests/<package>/test_<module>.py`; what crosses packages has folders by purpose, and what a package
    refuses may be one table."""
    modules = {path.relative_to(SOURCE).with_suffix("").as_posix() for path in MODULES}
    named = [path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")]
    assert {"io", "cli", "attacks"} < {path.parts[0] for path in named}
    for path in named:
        name = (path.parent / path.stem.removeprefix("test_")).as_posix()
        if (
            path.parts[0] not in BY_PURPOSE
            and name not in OF_SEVERAL_MODULES
            and path.stem != "test_refusals"
        ):
            assert name in modules, path


# Modules without a test file of their own, and why.
TESTED_WITH_OTHERS = {
    "__main__": "one call, which the tests of how the command line starts make",
}


def test_every_module_has_a_test_file_of_its_own() -> None:
    """Whoever changes a module finds its tests under its name; faces of layers only name what is in them."""
    modules = {path.relative_to(SOURCE) for path in MODULES if path.name != "__init__.py"}
    tests = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    missing = {path for path in modules if path.with_name(f"test_{path.name}") not in tests}
    assert not {path.with_suffix("").as_posix() for path in missing} - TESTED_WITH_OTHERS.keys()


@pytest.mark.parametrize("path", MODULES, ids=names_of)
def test_every_module_says_what_it_is_and_never_asserts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert path.name not in EMPTY_NAMES
    assert ast.get_docstring(ast.parse(text))
    assert not [node.lineno for node in nodes(path) if isinstance(node, ast.Assert)]
    assert not re.search(r"type: ignore|pragma: no cover|# TODO|# FIXME|NotImplementedError", text)


def test_decisions_are_never_drawn_by_a_seeded_generator() -> None:
    layers = ("certify", "planning", "deciding")
    modules = [path for path in MODULES if layer_of(names_of(path) + ".") in layers]
    assert len(modules) > 15
    for path in modules:
        assert not [n for n in imports(path) if n == "random" or n.startswith(("random.", "numpy.random"))]
        assert "np.random" not in path.read_text(encoding="utf-8")


def test_nothing_reaches_for_the_network() -> None:
    banned = {"socket", "urllib", "http", "requests", "ftplib", "smtplib", "ssl"}
    for path in MODULES:
        # The app listens on this machine alone, which its own tests check.
        allowed = {"socket"} if names_of(path) == "blindcal.app.server" else set()
        assert not {name.split(".")[0] for name in imports(path)} & (banned - allowed), path.name


def test_the_guards_are_tested_optimized_when_asked() -> None:
    assert __debug__ != bool(os.environ.get("PYTHONOPTIMIZE"))


def test_guards_hold_under_python_o() -> None:
    program = """
import sys
from random import Random
import tempfile, pathlib
import blindcal as bc
from bad_files import FAMILIES, good_rows
folder = pathlib.Path(tempfile.mkdtemp())
for name, family in FAMILIES.items():
    rng = Random(name)
    for trial in range(3):
        (folder / "r.csv").write_bytes(family(good_rows(rng), rng).data)
        try:
            bc.Reviews.read(folder / "r.csv")
        except bc.InputError:
            continue
        sys.exit(f"{name} was read")
(folder / "r.csv").unlink()
folder.rmdir()
for bad in (lambda: bc.Affine(-1.0), lambda: bc.Belief([0.5, 0.6], [0, 1]), lambda: bc.Guarantee(epsilon=-1)):
    try:
        bad()
    except bc.InputError:
        continue
    sys.exit("a bad value was taken")
if __debug__:
    sys.exit("not optimized")
"""
    environment = {"PYTHONPATH": f"{ROOT / 'tests' / 'data'}:{Path(blindcal.__file__).parents[1]}"}
    command = [sys.executable, "-O", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


def test_without_the_extra_the_command_line_says_how_to_get_it() -> None:
    program = "import sys; sys.modules['typer'] = None; from blindcal.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "blindcal: the command line needs typer: pip install 'blindcal[cli]'\n"


def _tracked() -> list[str]:
    """Every file of the repository but this page, which names what is looked for."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a repository")
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT)
    names = listed.stdout.split()
    names.remove(Path(__file__).resolve().relative_to(ROOT).as_posix())
    return names


def _tracked_texts() -> dict[str, str]:
    paths = {name: ROOT / name for name in _tracked()}
    texts = {name: path for name, path in paths.items() if path.suffix in TEXTS and path.is_file()}
    return {name: path.read_text(encoding="utf-8") for name, path in texts.items()}


def test_no_machine_path_is_in_any_tracked_file() -> None:
    for name, text in _tracked_texts().items():
        found = re.search(r"(?<![\w.])/(?:work|home|root|tmp)/\w|\.\./shared", text)
        assert not found, f"{name}: {found}"


def test_every_file_of_the_repository_that_a_text_names_is_there() -> None:
    named = re.compile(r"(?<![\w/])(?:bench|docs|requirements|src|studies|tests)/[A-Za-z_/]+\.[a-z]+")
    found = {name for text in _tracked_texts().values() for name in named.findall(text)}
    assert len(found) > 40
    assert not {name for name in found if not (ROOT / name).exists()}


def test_mutants_are_tried_on_modules_and_tests_that_are_there() -> None:
    mutants = importlib.import_module("bench.mutants")
    for module, names in mutants.TESTS.items():
        assert mutants.source_of(ROOT / "src", module).is_file()
        assert [mutants.test_of(name) for name in names.split()]


def test_the_spelling_is_american() -> None:
    british = re.compile(
        r"grey|colour|behaviour|favour|neighbour|labour|centre|judgement|labelled|modelled|cancelled|analyse"
        r"|(?:normal|general|minim|maxim|optim|recogn|organ|random|standard|summar|initial)is(?:e|ing|ation)",
        re.IGNORECASE,
    )
    # The change log names what was renamed; pretalx spells its models and its API in its own way.
    for name, text in _tracked_texts().items():
        found = british.search(f"{name}\n{text.replace('organisers/', '')}")
        assert not found or name in ("CHANGELOG.md", "tests/live/pretalx_site.py"), f"{name}: {found}"


def test_the_installed_package_is_the_whole_source() -> None:
    """`make test` sets BLINDCAL_WHEEL: the built wheel must then be what the tests import."""
    installed = Path(blindcal.__file__).parent
    assert "BLINDCAL_WHEEL" not in os.environ or installed != SOURCE
    for path in SOURCE.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert (installed / path.relative_to(SOURCE)).read_bytes() == path.read_bytes()


def test_every_module_can_be_imported_alone() -> None:
    for path in MODULES:
        if not names_of(path).startswith(("blindcal.app.", "blindcal.cli")):
            importlib.import_module(names_of(path))


@pytest.mark.edge
def test_benches_studies_and_tools_take_from_the_package_what_it_has() -> None:
    """Most of them are run by no test: what moves must move there too."""
    scripts = [path for folder in ("bench", "studies", "tools") for path in (ROOT / folder).glob("*.py")]
    taken = {
        (path.name, node.module, alias.name)
        for path in scripts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("blindcal")
        for alias in node.names
    }
    assert len(taken) > 200
    for script, module, name in sorted(taken):
        found = importlib.import_module(module)
        assert hasattr(found, name) or importlib.import_module(f"{module}.{name}"), script


def test_every_pin_has_hashes_and_every_action_a_commit() -> None:
    """A release or an action that is replaced under its name must not run here."""
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        pins = re.split(r"(?m)^(?=[\w.-]+(?:\[\w+\])?==)", path.read_text())[1:]
        assert pins, path
        assert [pin.split()[0] for pin in pins if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", pin)] == []
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", path.read_text())
        assert used
        assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []
    commands = [
        line for line in (ROOT / "Makefile").read_text().splitlines() if "$(PIP)" in line and " -r " in line
    ]
    assert commands
    assert [line for line in commands if "--require-hashes" not in line] == []
