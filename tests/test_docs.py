"""Nothing that a user can see exists undocumented, and nothing documented is wrong.

The generated pages are compared whole; the others are searched for the names that the code has.
"""

import ast
import functools
import io
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pytest
from fastapi.routing import APIRoute

from docs import make_reference
from humanmcp import launch, locales
from humanmcp.cli import commands, main
from humanmcp.common import own_process
from humanmcp.common.book_file import parse_book
from humanmcp.common.settings import BOOK_NAME, DEFAULTS, FILE_NAME, PREFIX, brought_settings
from humanmcp.common.shell import CommandFormatter
from humanmcp.desk import context, login
from humanmcp.desk.app import CALLS
from humanmcp.desk.inbox import saved_answers
from humanmcp.inbox import form_drafts
from humanmcp.locales import LANGUAGES, sentences_of
from humanmcp.locales.compiling import folders, sentences
from humanmcp.protocol.answer_book.book_format import ENTRY_KEYS, NOTICES, SERVER
from humanmcp.protocol.conversation.timeouts import CLIENTS
from humanmcp.protocol.diagnostics.kinds import KINDS
from humanmcp.setup.hosts import HOSTS
from tests.support.inbox_folder import LAYOUT

ROOT: Final = Path(__file__).parent.parent
REFERENCE: Final = ROOT / "docs" / "reference"
PROBLEM_CODE: Final = re.compile(r"\b[JRMNFX]\d{2,3}\b")
FENCE: Final = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
HEADING: Final = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
TEXT_SUFFIXES: Final = frozenset(
    {"", ".css", ".html", ".js", ".json", ".jsonl", ".md", ".mjs", ".py", ".sh", ".toml", ".txt"}
)


@functools.cache
def read(path: Path) -> str:
    """Return the text of a file of the project; a case of the check may have other bytes."""
    return path.read_text(encoding="utf-8", errors="replace")


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a module of the project."""
    return ast.parse(read(path))


@functools.cache
def manual() -> tuple[Path, ...]:
    """List every page that people read."""
    pages = {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")}
    return tuple(sorted(pages | set((ROOT / "samples").rglob("*.md"))))


@functools.cache
def committed() -> tuple[Path, ...]:
    """List every text file of the project; what is made or fetched is none of them."""
    made = {".venv", "node_modules", "__pycache__", "build", "compiled", "dist", "vendor"}
    folders = ("humanmcp", "web", "samples", "tests", "tools", "bench", "docs", ".ci", ".github")
    # In a second worktree of git, `.git` is a file that holds a path of the machine.
    found = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]
    for folder in folders:
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return tuple(
        path
        for path in sorted(found)
        if path.suffix in TEXT_SUFFIXES and not made.intersection(path.parts)
    )


def rel(path: Path) -> str:
    """Name a page in a test's id."""
    return path.relative_to(ROOT).as_posix()


# -- what the code has, the manual has --------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["api.md", "commands.md", "faults.md", "hosts.md", "problems.md", "settings.md"],
)
def test_the_generated_pages_are_up_to_date(name: str) -> None:
    """When this fails: `make docs`, and commit what it wrote."""
    assert read(REFERENCE / name) == make_reference.pages()[REFERENCE / name]


@pytest.mark.parametrize("command", commands())
def test_every_command_and_flag_is_documented(command: str) -> None:
    """Each command has its section, and each of its flags stands there."""
    section = read(REFERENCE / "commands.md").split(f"## `humanmcp {command}`")[1].split("\n## ")[0]
    for action in make_reference.parser_of(command)._actions:
        for flag in action.option_strings if action.dest != "help" else ():
            assert f"`{flag}" in section


EVERY_SETTING: Final = {**DEFAULTS, **{one.name: one.default for one in brought_settings()}}


@pytest.mark.parametrize(("name", "default"), EVERY_SETTING.items(), ids=[*EVERY_SETTING])
def test_every_setting_is_documented(name: str, default: object) -> None:
    """Its flag, its name in the environment and its default stand in one row."""
    page = read(REFERENCE / "settings.md")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
    assert f"`--{name.replace('_', '-')}`" in row
    assert f"`{PREFIX}{name.upper()}`" in row
    assert default == "" or default is False or f"`{default}`" in row


def test_the_manual_offers_no_home_inside_the_file_that_home_finds() -> None:
    """Every other setting can stand in the file."""
    rows = [line.split("|") for line in read(REFERENCE / "settings.md").splitlines()]
    offered = {row[1].strip(" `"): row[2].strip() == "yes" for row in rows if len(row) > 6}
    assert {name for name in DEFAULTS if not offered[name]} == {"home"}


def codes_in_code() -> set[str]:
    """Collect the problem codes that the code can raise: the strings that look like one."""
    found: set[str] = set()
    for file in (ROOT / "humanmcp").rglob("*.py"):
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} if PROBLEM_CODE.fullmatch(node.value) else set()
    return found


def test_every_problem_has_a_sentence_and_every_sentence_a_problem() -> None:
    """A code without a sentence would be a traceback; a sentence without a code is a rumour."""
    table = sentences_of("problem", "en")
    assert set(KINDS) == {code for code in table if "." not in code}


def test_every_problem_that_the_code_names_is_listed() -> None:
    """Each is a class."""
    assert codes_in_code() - set(KINDS) == set()


def test_every_problem_is_documented() -> None:
    """docs/reference/problems.md has a line for every code, and no other."""
    rows = re.findall(
        r"^- [a-z0-9-]+ \((\w+)\), \w+: \S", read(REFERENCE / "problems.md"), re.MULTILINE
    )
    assert sorted(rows) == sorted(KINDS)


def test_a_message_names_no_file_of_the_manual() -> None:
    """Who installed the wheel has none: a command, or an address of the desk, is there."""
    messages = [sentence for language in LANGUAGES for sentence in flat(language).values()]
    for file in (ROOT / "humanmcp").rglob("*.py"):
        messages += strings(parsed(file))
    assert [text for text in messages if re.search(r"\bdocs/[a-z-]+/[a-z-]+", text)] == []


def strings(tree: ast.Module) -> list[str]:
    """Return the strings of a module that are no comments: a docstring is one."""
    comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in comments
    ]


@functools.cache
def flags_of(command: str) -> set[str]:
    """Return every flag of a command."""
    actions = make_reference.parser_of(command)._actions
    return {flag for action in actions for flag in action.option_strings}


OF_THE_SAMPLE: Final = ("humanmcp waiting", "--remind 10")
"""What `samples/extension/` adds: `tests/extensions/test_extensions.py` runs it."""


def unknown_in(code: str) -> list[str]:
    """Return the commands of humanmcp in a line of code that do not exist, or have other flags."""
    found = []
    for added in OF_THE_SAMPLE:
        code = code.replace(added, "")
    for command, rest in re.findall(r"\bhumanmcp (?!humanmcp)([a-z]+)\b([^#|]*)", code):
        typed = re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest.partition(" -- ")[0])
        if command not in commands() or not set(typed) <= flags_of(command):
            found.append(code)
    return found


def test_what_a_message_tells_to_type_exists() -> None:
    """Each command with its flags, and each address of the interface."""
    addresses = {route.path for one in CALLS for route in one.routes if isinstance(route, APIRoute)}
    for sentence in [sentence for language in LANGUAGES for sentence in flat(language).values()]:
        assert [one for code in NAMED.findall(sentence) for one in unknown_in(code)] == []
        assert set(re.findall(r"(?:GET|POST) (/api/[\w./]*\w)", sentence)) <= addresses, sentence


@pytest.mark.parametrize("page", manual(), ids=rel)
def test_every_command_in_the_manual_exists_with_its_flags(page: Path) -> None:
    """In the text and in every block that a reader copies."""
    text = read(page)
    typed = [
        code for kind, block in BLOCK.findall(text) if kind == "sh" for code in block.split("\n")
    ]
    typed += [line for _, block in BLOCK.findall(text) for line in TYPED.findall(block)]
    typed += NAMED.findall(FENCE.sub("", text))
    assert [one for code in typed for one in unknown_in(code)] == []


@pytest.mark.parametrize("name", ["problems.md", "faults.md"])
def test_an_english_page_of_the_reference_speaks_one_language(name: str) -> None:
    """Who reads the English page wants no line of the Japanese one."""
    prose = re.sub(r"「[^」]*」", "", read(REFERENCE / name).replace("日本語", ""))
    assert not re.search("[ぁ-んァ-ヴ]", prose)


FOLDER_NAMES: Final = (
    *LAYOUT,
    *(FILE_NAME, BOOK_NAME, own_process.LOG_NAME, own_process.OLD_NAME),
    *(
        launch.FACTS_NAME,
        launch.LOCK_NAME,
        launch.LOG_NAME,
        launch.OPEN_NAME,
        context.OLD_NAME,
    ),
    *(login.FILE_NAME, saved_answers.FOLDER),
    form_drafts.FOLDER,
    *("demo", "demo.log", "lessons", "rooms"),  # of the classroom
    *("notices.toml", "phones.json"),  # of the notices
    *("out.refused.txt", "out.before.txt", ".humanmcp.lock", ".humanmcp.tmp"),  # of the text files
)
"""Every name that the program gives to something in the folder."""


def numberless(name: str) -> str:
    """Return a name with 1 for each number in it."""
    return re.sub(r"\d+", "1", name)


def names_on_the_page() -> set[str]:
    """Return the names in the tables of docs/reference/folder.md that explain files and folders."""
    tables = re.findall(
        r"^\| name \|[^\n]*\n\|[ -|]*\n((?:\|[^\n]*\n)+)",
        read(REFERENCE / "folder.md"),
        re.MULTILINE,
    )
    rows = [row for table in tables for row in table.splitlines()]
    return {numberless(name) for row in rows for name in re.findall("`(.+?)`", row.split("|")[1])}


def test_every_name_in_the_folder_is_documented_and_no_other() -> None:
    """docs/reference/folder.md explains every file and folder that a person may find."""
    assert names_on_the_page() == {numberless(name) for name in FOLDER_NAMES}


def seconds(cell: str) -> float | None:
    """Read a time of the table of waiting times; None where there is no limit."""
    number = re.search(r"(\d+) (s|minutes)", cell)
    return int(number[1]) * (60 if number[2] == "minutes" else 1) if number else None


def test_the_waiting_times_of_the_manual_are_those_that_the_program_knows() -> None:
    """Docs/how-to/connect-a-host.md is read against `protocol/conversation/timeouts.py`."""
    page = read(ROOT / "docs" / "how-to" / "connect-a-host.md")
    table = page.split("| host | limit of a call |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:5]] for row in table.splitlines()[2:]]
    shown = {
        (label, seconds(call), helps == "yes", "(reported)" in names)
        for names, call, _entry, helps in rows
        for label in names.replace(" (reported)", "").split(", ")
    }
    known = {(one.label, one.call, one.progress_helps, one.source == "reported") for one in CLIENTS}
    assert shown <= known
    hosts = {host.label for host in HOSTS}
    assert {one.label for one in CLIENTS} & hosts == {label for label, *_ in shown}


# -- both languages say the same --------------------------------------------------------------


def fillings(sentence: str) -> set[str]:
    """Return the names in braces. A sentence that is never filled may hold braces of its own."""
    try:
        parts = list(string.Formatter().parse(sentence))
    except ValueError:
        return set()
    return {name for _text, name, _spec, _conversion in parts if name and name.isidentifier()}


def flat(language: str) -> dict[str, str]:
    """Return the sentences of a language as {room.code: sentence}."""
    return {
        f"{room}.{code}": sentence
        for folder in folders()
        for room, table in sentences(language, folder).items()
        for code, sentence in table.items()
    }


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_has_every_sentence(language: str) -> None:
    """English stands in for one that is missing: it is named here, and keeps nobody from adding it.

    A wording for one thing is there only where a language needs it.
    """
    translated, english = set(flat(language)), set(flat("en"))
    assert translated <= english
    missing = sorted(code for code in english - translated if not code.endswith(" one"))
    if missing:
        pytest.skip(f"not translated yet ({language}): {', '.join(missing)}")


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_sentence_has_the_same_fillings_in_every_language(language: str) -> None:
    """A filling that one language forgets is a fact that its readers do not get."""
    english, other = flat("en"), flat(language)
    differing = [
        code
        for code in sorted(set(english) & set(other))
        if fillings(english[code]) != fillings(other[code])
    ]
    assert differing == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_with_fillings_can_be_filled(language: str) -> None:
    """A brace of its own is doubled there."""
    for code, sentence in flat(language).items():
        if names := fillings(sentence):
            assert CommandFormatter().format(sentence, **dict.fromkeys(names, "")), code


@pytest.mark.extension("text_files")  # whose words the demo has
def test_every_sentence_that_the_code_names_exists() -> None:
    """`say("room", "code")` with two plain strings must find its sentence."""
    known = flat("en")
    missing = [
        f"{rel(file)}:{node.lineno}: {room}.{code}"
        for file in sorted((ROOT / "humanmcp").rglob("*.py"))
        for node, room, code in said_in(file)
        if f"{room}.{code}" not in known
    ]
    assert missing == []


def said_in(file: Path) -> Iterator[tuple[ast.Call, str, str]]:
    """Find the calls of `locales.say` with a room and a code written out."""
    tree = parsed(file)
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == locales.__name__
        for alias in node.names
        if alias.name == "say"
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id=name),
                args=[ast.Constant(value=str(room)), ast.Constant(value=str(code)), *_],
            ) if name in names:
                yield node, room, code


def headings(page: Path) -> list[int]:
    """Return the levels of the headings, in order, leaving code blocks out."""
    return [len(marks) for marks, _title in HEADING.findall(FENCE.sub("", read(page)))]


def test_both_readmes_have_the_same_structure() -> None:
    """The same headings, level by level."""
    assert headings(ROOT / "README.md") == headings(ROOT / "README.ja.md")


def test_both_readmes_have_the_same_code() -> None:
    """What a reader copies must not depend on the language."""
    assert typed(ROOT / "README.md") == typed(ROOT / "README.ja.md")


@pytest.mark.parametrize(("page", "language"), [("README.md", "en"), ("README.ja.md", "ja")])
def test_the_check_of_each_readme_prints_what_stands_there(
    page: str, language: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """README.ja's example was in English."""
    blocks = [code for kind, code in BLOCK.findall(read(ROOT / page)) if kind == "console"]
    command, printed = next(one for one in blocks if "humanmcp check" in one).split("\n", 1)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(command.split("'")[1].encode())))
    main([*command.split("humanmcp ")[1].split(), "--lang", language])
    assert capsys.readouterr().out == printed


# -- every page for people at work stands in both languages -----------------------------------

JAPANESE: Final = ".ja.md"
ENGLISH_ONLY: Final = ("design.md",)
GUIDES: Final = tuple(
    page
    for folder in (".", "tutorial", "how-to", "explanation")
    for page in sorted((ROOT / "docs" / folder).glob("*.md"))
    if not page.name.endswith(JAPANESE) and page.name not in ENGLISH_ONLY
)
"""The English pages that a user follows, or reads about the work.

`design.md` is for those who change the program, whose code and comments are in English too.
"""

BLOCK: Final = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COPIED: Final = frozenset({"sh", "json", "toml", "python", "js", "nginx", "haproxy", "yaml"})
"""What stands in such a block is copied by the reader; `text` is what a program printed."""

TYPED: Final = re.compile(r"^\$ .*$", re.MULTILINE)
COMMENT: Final = re.compile(r"\s+# .*$", re.MULTILINE)
OWN_WORDS: Final = re.compile(r"""(--text |"message": )"[^"]*\"""")
ABOUT_JAPANESE: Final = frozenset({"export HUMANMCP_LANG=ja", "LANG"})
SPEAK_JAPANESE: Final = re.compile(r"^export HUMANMCP_LANG=ja\n| --lang ja$", re.MULTILINE)
NAMED: Final = re.compile(r"(?<!\\)`([^`]+)`")


def twin(page: Path) -> Path:
    """Return the Japanese page of an English one."""
    return page.with_name(page.stem + JAPANESE)


def typed(page: Path) -> list[tuple[str, str]]:
    """Return each block of code as (kind, what its reader types).

    What one language has to itself is left out: comments, what a program printed, the words that
    the reader says to the model, and the request for Japanese output.
    """
    found = []
    for kind, code in BLOCK.findall(read(page)):
        if kind == "console":
            code = "\n".join(TYPED.findall(code)) + "\n"  # noqa: PLW2901 - the prompt, no output
        same = SPEAK_JAPANESE.sub("", OWN_WORDS.sub(r"\1…", COMMENT.sub("", code)))
        if same:
            found.append((kind, same if kind in COPIED or kind == "console" else ""))
    return found


def named(page: Path) -> set[str]:
    """Return the names in the sentences of a page: commands, flags, files, members of a message."""
    return {" ".join(words.split()) for words in NAMED.findall(FENCE.sub("", read(page)))}


def test_every_guide_has_a_twin_in_japanese() -> None:
    """No page is English only, and no Japanese page is left behind when its English one goes."""
    folders = {page.parent for page in GUIDES}
    japanese = {page for folder in folders for page in folder.glob(f"*{JAPANESE}")}
    assert {twin(page) for page in GUIDES} == japanese


@pytest.mark.parametrize("page", GUIDES, ids=rel)
def test_both_languages_of_a_guide_link_to_each_other(page: Path) -> None:
    """A reader who came to the wrong one finds the other at its top."""
    assert f"([日本語]({twin(page).name}))" in read(page).split("\n## ")[0]
    assert f"\uff08[English]({page.name})\uff09" in read(twin(page)).split("\n## ")[0]


@pytest.mark.parametrize("page", GUIDES, ids=rel)
def test_both_languages_of_a_guide_have_the_same_structure(page: Path) -> None:
    """The same headings, level by level."""
    assert headings(page) == headings(twin(page))


@pytest.mark.parametrize("page", GUIDES, ids=rel)
def test_both_languages_of_a_guide_have_the_same_commands(page: Path) -> None:
    """Who changes what is typed in one language changes it in the other."""
    assert typed(page) == typed(twin(page))


@pytest.mark.parametrize("page", GUIDES, ids=rel)
def test_both_languages_of_a_guide_name_the_same_things(page: Path) -> None:
    """Each command, flag, file and member that one names in a sentence, the other names too."""
    assert named(page) - ABOUT_JAPANESE == named(twin(page)) - ABOUT_JAPANESE


PRESSED: Final = re.compile(r"\*\*([^*]+)\*\*(?!:)")
"""A bold word before a colon begins an explanation: it is no button."""


def label(sentence: str) -> str:
    """Return what a page calls a button: `Next` for `Next: step {step}`."""
    return re.split("[:…]", re.sub(r"\{\w+\}", "", sentence).strip())[0].strip()


@pytest.mark.parametrize("page", GUIDES, ids=rel)
def test_each_button_in_the_manual_is_called_in_japanese_what_the_page_calls_it(page: Path) -> None:
    """A reader looks for the word: that of the catalog, wherever the English page has its twin."""
    english, japanese = flat("en"), flat(LANGUAGES[1])
    labels: dict[str, set[str]] = {}
    for code in {*english} & {*japanese}:
        labels.setdefault(label(english[code]), set()).add(label(japanese[code]))
    there = " ".join(read(twin(page)).split())
    bold = {label(" ".join(one.split())) for one in PRESSED.findall(read(page))} & {*labels} - {""}
    assert {one: labels[one] for one in bold if not any(map(there.__contains__, labels[one]))} == {}


@pytest.mark.parametrize("page", [*GUIDES, *map(twin, GUIDES)], ids=rel)
def test_every_block_of_a_guide_says_what_it_is(page: Path) -> None:
    """So that what is copied can be told from what was printed, here and by the reader."""
    assert {kind for kind, _code in BLOCK.findall(read(page))} <= COPIED | {"console", "text"}


JAPANESE_PAGES: Final = (ROOT / "README.ja.md", *sorted((ROOT / "docs").rglob(f"*{JAPANESE}")))


@pytest.mark.parametrize("page", JAPANESE_PAGES, ids=rel)
def test_brackets_and_bold_of_a_japanese_page_are_those_of_japanese(page: Path) -> None:
    """Full-width brackets, and no `**…**` that Markdown shows as asterisks.

    A closing `**` after punctuation ends nothing where a letter follows it:
    https://spec.commonmark.org/0.31.2/#right-flanking-delimiter-run
    """
    prose = re.sub(r"\]\([^)\s]+\)|`[^`]*`|<!--.*?-->", "", FENCE.sub("", read(page)))
    assert re.findall(r".*[()].*", prose) == []
    assert re.findall(r"\*\*[^*\s][^*]*[\u2026\uff09」]\*\*\w", prose) == []


@pytest.mark.parametrize("page", JAPANESE_PAGES, ids=rel)
def test_a_japanese_page_links_to_japanese_pages(page: Path) -> None:
    """Where there is one; its own English twin is the exception."""
    links = (link.partition("#")[0] for link in LINK.findall(read(page)))
    targets = {(page.parent / link).resolve() for link in links}
    english = page.with_name(page.name.replace(JAPANESE, ".md"))
    pages = {target for target in targets if target.suffix == ".md" and target != english}
    assert {target for target in pages if twin(target).exists()} == set()


# -- the pages hold together ------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    titles = (title for _marks, title in HEADING.findall(FENCE.sub("", read(page))))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", manual(), ids=rel)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    """To a file that exists, and to a heading that exists in it."""
    broken = []
    for target in LINK.findall(FENCE.sub("", read(page))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = unquote(target).partition("#")
        file = (page.parent / name).resolve() if name else page
        lost = anchor and file.suffix == ".md" and file.exists() and anchor not in anchors(file)
        if not file.exists() or lost:
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", manual(), ids=rel)
def test_every_quoted_conversation_is_the_one_that_is_tested(page: Path) -> None:
    """A block after `<!-- quote: FILE -->` is FILE, or whole lines of it. If not: `make docs`."""
    for _opening, name, block in make_reference.QUOTE.findall(read(page)):
        assert make_reference.is_part(block, read(ROOT / name)), name


def test_every_conversation_is_quoted_in_the_manual() -> None:
    """The files are written to be read."""
    quoted = {name for page in manual() for _, name, _ in make_reference.QUOTE.findall(read(page))}
    files = {rel(file) for file in make_reference.CONVERSATIONS.glob("*.txt")}
    assert files - quoted == set()


FORBIDDEN: Final = re.compile(
    r"(?<![\w.])/(?:work/(?:main|shared|wt|tools)|root)\b|registry\.npmjs|pypi\.org|pythonhosted"
)


def test_nothing_names_the_machine_it_was_written_on() -> None:
    """No path of one machine and no address of a package registry is committed."""
    found = [
        f"{rel(path)}: {match.group()}"
        for path in committed()
        if path != Path(__file__)
        for match in FORBIDDEN.finditer(read(path))
    ]
    assert found == []


@pytest.mark.parametrize("name", ["book.md"])
def test_every_key_of_a_book_is_documented_and_every_example_can_be_used(name: str) -> None:
    """The reference of the answer book is read against what reads a book."""
    page = (ROOT / "docs" / "reference" / name).read_text("utf-8")
    keys = {*ENTRY_KEYS, *SERVER, *NOTICES}
    assert {key for key in keys if not re.search(rf"[`{{ ]{key}[` ]", page)} == set()
    for example in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
        assert parse_book(example, Path(name)).entries


FILES: Final = re.compile(
    r"`((?:humanmcp|tests|tools(?!/call|/list)|bench|docs|samples|web|editor)/[\w/.-]+)`"
)
NAMING: Final = ("AGENTS.md", "CONTRIBUTING.md", "tests/support/README.md", "tools/README.md")


@pytest.mark.parametrize(
    "page", [*(ROOT / one for one in NAMING), *sorted(ROOT.glob("docs/*/*.md"))], ids=rel
)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    """A module that moved takes its name in the manual along."""
    names = FILES.findall(page.read_text(encoding="utf-8"))
    assert [name for name in names if not (ROOT / name).exists()] == []
