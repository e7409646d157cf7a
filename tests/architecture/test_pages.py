"""Pages say for whom they are, link to what there is, stand in the navigation and are spelt right."""

import re
from pathlib import Path

import pytest
import yaml

from tests.architecture.test_docs_run import PAGES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"!?\[[^\]]*\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
NO_AUDIENCE = {DOCS / "index.md"}  # for everybody
# Two spellings of one word, and slips that were made here or that everybody makes.
WRONG = re.compile(
    r"\b(teh|recieve\w*|seperat\w*|occured|priviledge\w*|acheiv\w*|definately|wich|thier|alot|untill|"
    r"neccessary|accomodat\w*|publically|adress\w*|colour\w*|neighbour\w*|behaviours|quantis\w*|randomis\w*|"
    r"pseudonymis\w*|the the|a a|is is|of of|to to)\b",
    re.IGNORECASE,
)


def anchors(page):
    """Return the anchors of a page's headings, as the generator makes them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", plain, flags=re.ASCII).strip()))
    return found


def nav(entries):
    for entry in entries:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from nav(value) if isinstance(value, list) else [value]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            assert anchor[1:] in anchors(target), f"{path}{anchor}"


def test_every_page_is_in_the_navigation_and_says_for_whom_it_is():
    named = {DOCS / each for each in nav(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])}
    pages = {page for page in DOCS.rglob("*.md") if page.parent.name != "decisions"}
    assert pages - named == set()
    assert all(page.exists() for page in named)
    for page in pages - NO_AUDIENCE:
        head = page.read_text(encoding="utf-8")[:500]
        assert re.search(r"^\*For ", head, re.MULTILINE), page


def test_every_decision_is_on_their_list():
    listed = (DOCS / "decisions/index.md").read_text(encoding="utf-8")
    for page in sorted((DOCS / "decisions").glob("0*.md")):
        assert f"({page.name})" in listed


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 140


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_words_are_spelt_right(page):
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    found = [match[0] for match in WRONG.finditer(re.sub(r"`[^`]*`|\([^)\s]*\)", "", text))]
    assert found == []
