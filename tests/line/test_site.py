"""The documentation as a site: built without a warning, whole in itself, every floor in its reference."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import blindcal

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
pytestmark = pytest.mark.edge

DOCS = Path(__file__).parents[2] / "docs"


def test_the_site_is_built_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    more = ["-d", str(tmp_path / "trees"), str(DOCS), str(site)]
    done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for page in DOCS.rglob("*.md"):
        text = (site / page.relative_to(DOCS).with_suffix(".html")).read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"([^\"]+)\"", text)
        assert loaded
        assert not [one for one in loaded if re.match(r"[a-z]+:|//", one)], page.name
    reference = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert not [name for name in blindcal._PACKAGES if f"blindcal.{name}" not in reference]
    assert not [name for name in blindcal._EXPORTS if f'<span class="pre">{name}</span>' not in reference]
    assert '"tutorials/first_decisions"' in (site / "searchindex.js").read_text(encoding="utf-8")
