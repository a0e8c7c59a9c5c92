"""The manual as a site: every page in both languages, a page a mistake, no dead link."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from docs import make_site
from humanmcp.common import published
from humanmcp.protocol.diagnostics.kinds import KINDS
from tests.browser.chromium import launch_options

pytestmark = [pytest.mark.xdist_group("site"), pytest.mark.timeout(300)]  # 700 pages are built


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, with a page in the place of the one without a server."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("site/try/old.js", "try/index.html"):
        file = folder / name
        file.parent.mkdir(parents=True)
        file.touch()
    make_site.write(folder)
    make_site.build(folder)
    return folder / "site"


def test_no_link_is_dead(site: Path) -> None:
    """Neither to a page nor to a place in one."""
    assert make_site.dead_links(site) == []


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("index.html", 'href="try/index.html">Try it now<'),
        ("ja/index.html", 'href="../try/index.html">今すぐ試す<'),
    ],
)
def test_the_first_page_opens_the_page_without_a_server(site: Path, page: str, link: str) -> None:
    """In both languages, and by a relative link: a site may be anywhere."""
    assert [one.name for one in (site / "try").iterdir()] == ["index.html"]
    assert link in (site / page).read_text(encoding="utf-8")


def test_the_first_page_tells_how_to_build_what_is_not_built(tmp_path: Path) -> None:
    """Where Node.js is missing."""
    make_site.write(tmp_path)
    for language in ("en", "ja"):
        text = (tmp_path / "source" / language / "index.md").read_text(encoding="utf-8")
        assert "](how-to/class-from-one-link.md#" in text
        assert "try/index.html" not in text


@pytest.mark.parametrize(("idle", "works"), [(0, True), (1, True), (2, True), (3, False)])
def test_a_builder_that_writes_nothing_is_asked_again_and_named_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idle: int, *, works: bool
) -> None:
    """It exits with 0, whatever it wrote."""
    monkeypatch.setattr(make_site, "pages", lambda _: {Path("index.md"): "# Here"})
    calls: Counter[str] = Counter()

    def run(command: list[str], cwd: Path, **_: object) -> None:
        language = command[-1].removesuffix(".toml")
        calls[language] += 1
        if calls[language] > idle:
            site = cwd / "site" / ("" if language == "en" else language)
            site.mkdir(parents=True, exist_ok=True)
            (site / "index.html").touch()
            (site / "search.json").touch()

    monkeypatch.setattr("docs.make_site.subprocess.run", run)
    if works:
        make_site.build(tmp_path)
        assert set(calls.values()) == {idle + 1}
    else:
        with pytest.raises(RuntimeError, match=r"left out 2 pages, such as .*index\.html"):
            make_site.build(tmp_path)


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    """A page that is not there, a place that is not there; not what lies elsewhere."""
    (tmp_path / "a.html").write_text(
        '<h1 id="b">A</h1><a href="#b">b</a><a href="#c">c</a><a href="x.html">x</a>'
        '<a href="https://example.com/">e</a>',
        encoding="utf-8",
    )
    assert make_site.dead_links(tmp_path) == ["a.html: #c", "a.html: x.html"]


def test_every_mistake_has_a_page_in_both_languages(site: Path) -> None:
    """At the address that the check names."""
    for folder in (site / "reference", site / "ja" / "reference"):
        listed = (folder / "problems.html").read_text(encoding="utf-8")
        for code, kind in KINDS.items():
            assert (folder / "mistakes" / f"{code}.html").exists()
            assert f'<a href="mistakes/{code}.html">{kind.name} ({code})</a>' in listed
    page = published.SITE + "reference/mistakes/R04.html"
    text = (site / page.removeprefix(published.SITE)).read_text(encoding="utf-8")
    assert "Wrong:" in text
    assert "Result responses MUST include the same ID" in text


def test_the_menu_has_the_groups_of_the_manual_and_every_page(site: Path) -> None:
    """In the order in which somebody learns, the tutorial first; no page is left out."""
    for language, first, folder in (("en", "Learn", site), ("ja", "学ぶ", site / "ja")):
        menu = tomllib.loads(f"nav = {make_site.groups(language)}")["nav"]
        assert menu[0] == "index.md"
        assert menu[1][first][0] == "tutorial/first-answer.md"
        listed = [page for group in menu[1:] for pages in group.values() for page in pages]
        manual = {place.as_posix() for place in make_site.pages(language)}
        mistakes = {one for one in manual if one.startswith("reference/mistakes/")}
        assert sorted(listed) == sorted(manual - mistakes - {"index.md"})
        text = (folder / "index.html").read_text(encoding="utf-8")
        headings = [next(iter(group)) for group in menu[1:]]
        places = [text.index(heading) for heading in headings]
        assert places == sorted(places)
        assert text.index("tutorial/first-answer.html") < text.index("how-to/connect-a-host.html")


def test_both_languages_can_be_searched_without_a_server_elsewhere(site: Path) -> None:
    """The words of the pages lie beside them."""
    for folder, word in ((site, "wheelhouse"), (site / "ja", "授業")):
        index = json.loads((folder / "search.json").read_text(encoding="utf-8"))
        assert word in json.dumps(index, ensure_ascii=False)


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    """No fonts, no scripts, no pictures."""
    for page in ("index.html", "ja/index.html"):
        text = (site / page).read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"', text)
        outside = [one for one in loaded if one.startswith(("http:", "https:", "//"))]
        assert [one for one in outside if not one.startswith(published.SITE)] == []


def test_models_find_every_page_of_the_manual(site: Path) -> None:
    """Llms.txt links to pages that exist, llms-full.txt holds them."""
    text = (site / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20
    for link in links:
        assert (site / link.removeprefix(published.SITE)).exists(), link
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert "# Your first answer" in whole
    assert "# Glossary" in whole


@pytest.mark.browser
@pytest.mark.parametrize("folder", ["how-to", "ja/how-to"])
def test_the_cheat_sheet_is_one_page_of_a4(site: Path, folder: str) -> None:
    """It is handed out on paper: no menu, and nothing on a second page."""
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(**launch_options()).new_page()
        page.goto((site / folder / "class-cheat-sheet.html").as_uri())
        printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
