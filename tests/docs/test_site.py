"""The site builds without a warning, its links lead somewhere, and its pages load nothing from elsewhere."""

import importlib.util
import logging
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if importlib.util.find_spec("mkdocs") is None:
    pytest.skip("mkdocs is not installed (the extra [docs])", allow_module_level=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once; a warning is an error."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    logger, records = logging.getLogger("mkdocs"), []
    handler = logging.Handler(logging.WARNING)
    handler.emit = records.append
    logger.addHandler(handler)
    try:
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=False)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    finally:
        logger.removeHandler(handler)
    assert not [record.getMessage() for record in records]
    return folder


def test_every_document_is_a_page(site):
    pages = {path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")}
    documents = {
        (path.parent if path.name == "index.md" else path.with_suffix(""))
        .relative_to(ROOT / "docs")
        .as_posix()
        for path in ROOT.joinpath("docs").rglob("*.md")
    }
    assert documents - pages == set()


def test_public_names_have_an_entry_of_reference(site):
    import rightreasons.calibration

    text = site.joinpath("reference/calibration/index.html").read_text("utf-8")
    headings = set(re.findall(r'<h3 id="rightreasons\.[\w.]*?(\w+)"', text))
    assert set(rightreasons.calibration.__all__) - headings == set()


def test_pages_load_nothing_from_elsewhere(site):
    """Links may lead out; scripts, styles, fonts and images may not."""
    loaded = re.compile(
        r'(?:<script[^>]*\ssrc|<img[^>]*\ssrc|<link[^>]*rel="(?:stylesheet|preconnect)"[^>]*\shref)="(https?:[^"]*)"'
    )
    assert {
        match for path in site.rglob("*.html") for match in loaded.findall(path.read_text("utf-8"))
    } == set()


def test_formulas_are_mathml(site):
    text = site.joinpath("calibration/index.html").read_text("utf-8")
    assert "<math" in text
    assert "arithmatex" not in text


def test_links_out_of_the_documents_lead_to_the_repository(site):
    text = site.joinpath("recipes/extend/index.html").read_text("utf-8")
    assert 'href="https://github.com/rightreasons/rightreasons/blob/main/CONTRIBUTING.md"' in text


def test_reports_of_the_gallery_are_on_the_site_or_in_a_release(site):
    text = site.joinpath("gallery/index.html").read_text("utf-8")
    links = set(re.findall(r'href="([^"]*)"', text))
    release = "https://github.com/rightreasons/rightreasons/releases/latest/download/"
    # A checkout has the reports that were made in it, and no others.
    reports = {path.parent.name for path in ROOT.joinpath("docs/gallery").glob("*/index.html")}
    for name in ("films", "demo", "encoder", "clean", "promises", "answers"):
        expected = f"{name}/" if name in reports else f"{release}{name}.html"
        assert expected in links
    for name in reports:
        assert site.joinpath("gallery", name, "index.html").exists()
