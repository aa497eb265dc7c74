"""The documentation as a site: built without a warning, whole in itself, every package in its reference."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import blindcal
from layers import LAYERS

pytest.importorskip("furo")
pytest.importorskip("myst_parser")
pytest.importorskip("playwright")

from page_pictures import MISSING, browser, chromium

pytestmark = pytest.mark.edge

DOCS = Path(__file__).parents[2] / "docs"


def test_the_site(tmp_path: Path) -> None:
    """One build for all that is checked: it takes a while."""
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    more = ["-d", str(tmp_path / "trees"), str(DOCS), str(site)]
    done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    pages_load_nothing_from_elsewhere(site)
    every_package_has_a_page_and_types_are_linked(site)
    notebooks_are_shown_with_their_outputs(site)
    links_lead_somewhere(site)
    no_page_is_wider_than_a_telephone(site)


def pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in (*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")):
        text = (site / page.relative_to(DOCS).with_suffix(".html")).read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"([^\"]+)\"", text)
        assert loaded
        assert not [one for one in loaded if re.match(r"(?!data:image/png)[a-z]+:|//", one)], page.name
    assert '"tutorials/first_decisions"' in (site / "searchindex.js").read_text(encoding="utf-8")


def links_lead_somewhere(site: Path) -> None:
    """Those of the repository's own pages, too, which are shown as parts of the site."""
    for page in (*site.glob("*.html"), *site.glob("[a-z]*/*.html")):
        links = re.findall(r'<a\b[^>]*\bhref="(?![a-z]+:)([^"#]+)', page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name
    assert f"<h2>{blindcal.__version__}<" in (site / "changelog.html").read_text(encoding="utf-8")
    assert 'href="contributing.html"' in (site / "index.html").read_text(encoding="utf-8")


def no_page_is_wider_than_a_telephone(site: Path) -> None:
    """Tables and code scroll in themselves."""
    if chromium() is None:
        pytest.fail(MISSING)
    with browser() as found:
        page = found.new_page(viewport={"width": 400, "height": 800})
        page.set_default_timeout(60_000)
        for path in (*site.glob("*.html"), *site.glob("[a-z]*/*.html")):
            page.goto(path.as_uri(), wait_until="domcontentloaded")
            assert page.evaluate("document.scrollingElement.scrollWidth") <= 400, path.name


def every_package_has_a_page_and_types_are_linked(site: Path) -> None:
    reference = site / "reference" / "python"
    packages = [layer for layer in LAYERS if layer in blindcal.__all__]
    pages = {name: (reference / f"{name}.html").read_text(encoding="utf-8") for name in packages}
    listed = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert re.findall(r'<li class="toctree-l1"><a [^>]*href="python/(\w+)\.html"', listed) == packages
    for name in {*blindcal.__all__} - {*packages}:
        home = getattr(blindcal, name).__module__.split(".")[1]
        assert f'<span class="pre">{name}</span>' in pages[home], name
    # From the signature of a function to the type's own page.
    signature = (
        pages["policy"].partition('id="blindcal.policy.solver.private_policy"')[2].partition("</dt>")[0]
    )
    assert 'href="posterior.html#blindcal.posterior.belief.Belief"' in signature


def notebooks_are_shown_with_their_outputs(site: Path) -> None:
    shown = (site / "notebooks" / "two_reviewers.html").read_text(encoding="utf-8")
    assert "<h1>Two reviewers, two papers" in shown
    assert "wrong paper accepted 0.102" in shown
    assert '<img alt="' in shown
