"""Write the manual as a site: the pages of docs/ in both languages, and a page for each problem.

    python -m docs.make_site FOLDER

writes the pages for Zensical into FOLDER/source, has them built into FOLDER/site, and looks for
links that lead nowhere: Zensical itself does not. Nothing is written twice: a page is that of
docs/, without the link to its twin, which the language menu of the site replaces.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from docs import make_api, make_reference
from humanmcp.answering import mistakes
from humanmcp.common import published
from humanmcp.locales import LANGUAGES
from humanmcp.protocol.diagnostics.kinds import KINDS, title_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = ROOT / "docs"
TWIN: Final = re.compile(r" ?\(\[日本語\]\([^)]*\)\)|（\[English\]\([^)]*\)）")
LINK: Final = re.compile(r"\]\(([^)\s:]+)\)")
SUMMARY: Final = (
    "Be an MCP server by hand: answer a host's requests in a page, a terminal or text files."
)
STYLE: Final = "site.css"
"""How a page looks beyond the theme, and how it is printed."""
TRY: Final = re.compile(r"(?<=\()how-to/class-from-one-link\.md#[^)]+(?=\))")
"""The link of the first page to the page without a server."""
PROBLEM: Final = re.compile(r"^- [a-z0-9-]+ \(([A-Z]\d+)\), .*$", re.MULTILINE)
"""The row of a problem in reference/problems.md."""

CONFIGURATION: Final = """\
[project]
site_name = "humanmcp"
site_description = "{summary}"
site_author = "The humanmcp authors"
site_url = "{address}"
docs_dir = "source/{language}"
site_dir = "site{folder}"
use_directory_urls = false
extra_css = ["{style}"]
nav = {nav}

[project.theme]
language = "{language}"
font = false
features = ["content.code.copy", "navigation.indexes", "navigation.top", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "{dark}"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "{light}"

[project.markdown_extensions]
attr_list = {{}}
md_in_html = {{}}
tables = {{}}
pymdownx.highlight = {{}}
pymdownx.superfences = {{}}

[project.markdown_extensions.toc]
permalink = true
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}

[[project.extra.alternate]]
name = "English"
link = "{english}"
lang = "en"

[[project.extra.alternate]]
name = "日本語"
link = "{japanese}"
lang = "ja"
"""
_TOGGLES: Final = {"en": ("Dark", "Light"), "ja": ("暗く", "明るく")}


def pages(language: str) -> Mapping[Path, str]:
    """Return the pages of one language, by where they stand in its part of the site."""
    made = {_place(page): _rewritten(page, language) for page in _manual(language)}
    reference = Path("reference")
    if language == "en":
        made[reference / "api.md"] = make_reference.with_notice(make_api.page())
    listed = reference / "problems.md"
    made[listed] = PROBLEM.sub(lambda row: _problem(row[1], language), made[listed])
    for code in mistakes.codes():
        made[reference / "mistakes" / f"{code}.md"] = mistake(code, language)
    return made


def _problem(code: str, language: str) -> str:
    return f"- [{title_of(code)}](mistakes/{code}.md): {make_reference.problem(code, language)}"


def _manual(language: str) -> Iterator[Path]:
    for page in sorted(DOCS.rglob("*.md")):
        japanese = page.name.endswith(".ja.md")
        has_twin = page.with_name(f"{page.stem}.ja.md").exists()
        if japanese == (language == "ja") or (language == "ja" and not japanese and not has_twin):
            yield page


def _place(page: Path) -> Path:
    place = page.relative_to(DOCS)
    name = place.name.replace(".ja.md", ".md")
    return place.with_name("index.md" if name == "README.md" else name)


def _rewritten(page: Path, language: str) -> str:
    """Return a page as the site has it: links to pages in it, other links to the repository."""
    text = TWIN.sub("", page.read_text(encoding="utf-8"))
    return LINK.sub(lambda found: f"]({_link(page, found[1], language)})", text)


def _link(page: Path, link: str, language: str) -> str:
    name, mark, anchor = link.partition("#")
    if not name:
        return link
    target = (page.parent / unquote(name)).resolve()
    if not target.is_relative_to(DOCS):
        return (
            f"{published.REPOSITORY}/blob/main/{target.relative_to(ROOT).as_posix()}{mark}{anchor}"
        )
    if target.suffix != ".md":
        return link
    is_translated = language == "ja" and target.with_name(f"{target.stem}.ja.md").exists()
    if is_translated:  # an English page leads to a Japanese one, whose headings have other names
        mark = anchor = ""
    new = name.replace(".ja.md", ".md").removesuffix("README.md")
    return (f"{new}index.md" if new != name.replace(".ja.md", ".md") else new) + mark + anchor


def groups(language: str) -> str:
    """Return the menu of the site as TOML: the groups of docs/README, each with its pages.

    A page that two groups name is in the first one.
    """
    readme = DOCS / f"README{'.ja' if language == 'ja' else ''}.md"
    menu = ['"index.md"']
    seen = {"index.md"}
    for group in readme.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, _, text = group.partition("\n")
        links = (one.partition("#")[0] for one in LINK.findall(text))
        places = [_place(DOCS / one).as_posix() for one in links if one.endswith(".md")]
        new = [one for one in dict.fromkeys(places) if one not in seen]
        seen.update(new)
        # A text and a list of texts are written in TOML as in JSON.
        menu.append(f"{{ {json.dumps(heading, ensure_ascii=False)} = {json.dumps(new)} }}")
    return f"[{', '.join(menu)}]"


def mistake(code: str, language: str) -> str:
    """Return the page about one kind of mistake."""
    level, *more = make_reference.diagnostic(KINDS[code], language)
    title = make_reference.problem(code, language)
    return "\n".join((f"# {title_of(code)}: {title}", "", level.partition(":")[0], *more)) + "\n"


def summary() -> str:
    """Return llms.txt: what the manual has, for a model that looks for the page to read.

    https://llmstxt.org
    """
    rows = [
        f"- [{_title(text)}]({published.SITE}{place.with_suffix('.html').as_posix()})"
        for place, text in pages("en").items()
        if "mistakes" not in place.parts
    ]
    return "\n".join((f"# {published.NAME}", "", f"> {SUMMARY}", "", "## Pages", "", *rows)) + "\n"


def whole() -> str:
    """Return llms-full.txt: every page, one after the other."""
    found = (text for place, text in pages("en").items() if "mistakes" not in place.parts)
    return "\n\n".join(text.rstrip("\n") for text in found) + "\n"


def _title(text: str) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def write(folder: Path) -> None:
    """Write what Zensical reads. Where `tools.lite` has built its page, the first page opens it."""
    shutil.rmtree(folder / "source", ignore_errors=True)
    for language in LANGUAGES:
        made = dict(pages(language))
        if (folder / "try").exists():
            link = f"{'' if language == 'en' else '../'}try/index.html"
            made[Path("index.md")] = TRY.sub(link, made[Path("index.md")])
        for place, text in made.items():
            file = folder / "source" / language / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        images = folder / "source" / language / "images"
        shutil.copytree(DOCS / "images", images, dirs_exist_ok=True)
        shutil.copy(DOCS / STYLE, folder / "source" / language / STYLE)
        (folder / f"{language}.toml").write_text(_configuration(language), encoding="utf-8")


def _configuration(language: str) -> str:
    path = urlsplit(published.SITE).path
    dark, light = _TOGGLES[language]
    return CONFIGURATION.format(
        summary=SUMMARY,
        style=STYLE,
        address=published.SITE if language == "en" else f"{published.SITE}{language}/",
        language=language,
        folder="" if language == "en" else f"/{language}",
        dark=dark,
        light=light,
        english=path,
        japanese=f"{path}ja/",
        nav=groups(language),
    )


def build(folder: Path) -> None:
    """Build the site of each language, English first: it stands around the other.

    Raises:
        RuntimeError: the builder left out pages each time.
    """
    for language in LANGUAGES:
        _build(folder, language)
    shutil.rmtree(folder / "site" / "try", ignore_errors=True)
    if (folder / "try").exists():
        shutil.copytree(folder / "try", folder / "site" / "try")
    (folder / "site" / "llms.txt").write_text(summary(), encoding="utf-8")
    (folder / "site" / "llms-full.txt").write_text(whole(), encoding="utf-8")


ATTEMPTS: Final = 3
"""How often a language is built: the builder sometimes writes no page, and exits with 0."""


def _build(folder: Path, language: str) -> None:
    """Build one language. https://github.com/zensical/zensical/issues/641, and 338."""
    command = [sys.executable, "-m", "zensical", "build", "--clean", "-f", f"{language}.toml"]
    site = folder / "site" / ("" if language == "en" else language)
    wanted = [site / place.with_suffix(".html") for place in pages(language)]
    wanted.append(site / "search.json")
    for _ in range(ATTEMPTS):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own words
        missing = [file for file in wanted if not file.exists()]
        if not missing:
            return
    raise RuntimeError(f"Zensical left out {len(missing)} pages, such as {missing[0]}")


class _Links(HTMLParser):
    """Collects where a page leads, and the places in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the addresses and names of a tag."""
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            if value and ((tag == "a" and name == "href") or (tag == "img" and name == "src")):
                self.links.append(value)


def dead_links(site: Path) -> list[str]:
    """Return the links that lead to no page, or to no place in one, each with its page."""
    read: dict[Path, _Links] = {}
    for page in sorted(site.rglob("*.html")):
        read[page] = _Links()
        read[page].feed(page.read_text(encoding="utf-8"))
    return [
        f"{page.relative_to(site)}: {link}"
        for page, found in read.items()
        if page.name != "404.html"
        for link in found.links
        if _is_dead(page, link, read)
    ]


def _is_dead(page: Path, link: str, read: Mapping[Path, _Links]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or parts.path.startswith("/"):
        return False
    # Not `resolve`: it asks for each folder on the way, for each link.
    target = Path(os.path.normpath(page.parent / unquote(parts.path))) if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    anchor = unquote(parts.fragment)
    if not target.exists():
        return True
    return bool(anchor) and target in read and anchor not in read[target].places


def main(words: list[str]) -> int:
    """Build the site into a folder. Returns 1 where a link is dead."""
    folder = Path(words[0] if words else "build").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write(folder)
    build(folder)
    dead = dead_links(folder / "site")
    sys.stderr.writelines(f"{line}\n" for line in dead)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
