"""Write what the manual has from the code: pages of docs/reference, and what other pages quote.

A command, a setting or a problem that is not on its page does not exist for a user; so the pages
come from the same tables as the program. A page quotes a conversation in a block after the comment
`quote: FILE`. `make docs` writes all of it anew; tests/test_docs.py fails when something is stale.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docs import make_api, make_install, make_manifests, make_types
from humanmcp import cli, protocol
from humanmcp.cli import COMMANDS
from humanmcp.common import mistakes
from humanmcp.common.settings import FILE_NAME, PREFIX, Settings
from humanmcp.export import hosts
from humanmcp.locales import say, sentences_of
from humanmcp.protocol.diagnostics import raw
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json.escaping import visible
from humanmcp.protocol.spec.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).parent.parent
CONVERSATIONS: Final = ROOT / "tests" / "conversations"
QUOTE: Final = re.compile(
    r"(^<!-- quote: (\S+) -->\n```[^\n]*\n)(.*?)^```$", re.MULTILINE | re.DOTALL
)
"""A block that quotes a file: (all before the block, the file, the block)."""
NOTICE: Final = "<!-- Made from the code by `make docs`: edit that instead. -->"


def pages() -> Mapping[Path, str]:
    """Make every page: where it stands and its text."""
    folder = ROOT / "docs" / "reference"
    return {
        **{folder / name: _page(_commands(words)) for name, words in COMMAND_PAGES.items()},
        **{folder / name: _page(_settings(words)) for name, words in SETTING_PAGES.items()},
        folder / "problems.md": _page(_diagnostics(PROBLEMS["en"])),
        **{folder / name: _page(_faults(words)) for name, words in FAULTS.items()},
        folder / "api.md": _page(make_api.page()),
        **{folder / name: _page(_hosts(words)) for name, words in HOST_PAGES.items()},
        **dict(_quoting()),
        **make_manifests.files(),
        ROOT / "web" / "types" / "desk.d.ts": make_types.declarations(),
    }


def _page(lines: Iterator[str]) -> str:
    return "\n".join([NOTICE, "", *lines]) + "\n"


# -- commands ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableWords:
    """What the page of the commands or of the settings says beside its tables, in one language."""

    language: str
    title: str
    intro: tuple[str, ...]
    columns: str
    comma: str = ", "
    choices: str = " ({})"


COMMAND_PAGES: Final = {
    "commands.md": TableWords(
        "en",
        "Commands",
        (
            "`humanmcp COMMAND --help` says the same. What the flag of a [setting](settings.md)",
            "says can also be said by the environment and in the settings file.",
        ),
        "| argument | meaning |",
    ),
}
"""The pages of the commands, one a language."""


def parser_of(command: str, language: str = "en") -> argparse.ArgumentParser:
    """Make the parser of one command, with every argument it has."""
    return cli.parser_of(command, importlib.import_module(COMMANDS[command]), language)


def _commands(words: TableWords) -> Iterator[str]:
    yield from _beginning(words)
    for command in COMMANDS:
        yield ""
        yield f"## `humanmcp {command}`"
        yield ""
        yield _sentence(say("command", command, words.language), words.language)
        parser = parser_of(command, words.language)
        arguments = [action for action in parser._actions if _is_shown(action)]  # noqa: SLF001 - argparse lists them nowhere else
        if arguments:
            yield ""
            yield words.columns
            yield "| --- | --- |"
            yield from (
                f"| {_spelled(action)} | {_meaning(action, words)} |" for action in arguments
            )
        if parser.epilog:
            yield ""
            yield _sentence(" ".join(parser.epilog.split()), words.language)


def _beginning(words: TableWords) -> Iterator[str]:
    yield f"# {words.title}"
    yield ""
    yield from words.intro


def _is_shown(action: argparse.Action) -> bool:
    return action.help is not argparse.SUPPRESS and action.dest != "help"


def _spelled(action: argparse.Action) -> str:
    """Write an argument as a person types it."""
    value = ""
    if action.nargs != 0:
        names = action.metavar or action.dest.upper()
        value = " ".join(names) if isinstance(names, tuple) else names
    if not action.option_strings:
        return f"`{value}`"
    return ", ".join(f"`{flag} {value}`".replace(" `", "`") for flag in action.option_strings)


def _meaning(action: argparse.Action, words: TableWords) -> str:
    text = (action.help or "") % {"default": action.default, "prog": "humanmcp"}
    if action.choices and not all(str(choice) in text for choice in action.choices):
        text += words.choices.format(words.comma.join(map(str, action.choices)))
    return _cell(text)


# -- settings ---------------------------------------------------------------------------------


SETTING_PAGES: Final = {
    "settings.md": TableWords(
        "en",
        "Settings",
        (
            f"A flag wins over the environment, the environment over `{FILE_NAME}` in the inbox",
            "folder (`~/.humanmcp`), the file over the default. Hosts often start servers",
            "without your environment: the file and the flags always work.",
        ),
        "| setting | in the file | flag | environment | default | meaning |",
    ),
}
"""The pages of the settings, one a language."""

IN_FILE: Final = {
    "en": ("yes", "no: it says where the file is"),
    "ja": ("可", "不可: ファイルの場所を決めるもの"),
}
"""Whether a setting can stand in the settings file, as each language says it."""


def _settings(words: TableWords) -> Iterator[str]:
    yield from _beginning(words)
    yield ""
    yield words.columns
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, default in Settings()._asdict().items():
        flag = "--" + name.replace("_", "-")
        in_file = IN_FILE[words.language][name == "home"]
        meaning = _cell(say("setting", name, words.language))
        yield (
            f"| `{name}` | {in_file} | `{flag}` | `{PREFIX}{name.upper()}`"
            f" | {_default(default)} | {meaning} |"
        )


def _default(value: Any) -> str:  # noqa: ANN401 - a setting is text, a number or a truth value
    return "" if value == "" else f"`{value}`"


# -- problems ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    """What the page of the problems says beside the problems, in one language."""

    language: str
    title: str
    intro: tuple[str, ...]
    columns: str
    groups: Mapping[str, str]
    levels: Mapping[Severity, str]
    specified: str


PROBLEMS: Final = {
    "en": Words(
        "en",
        "Problems",
        (
            "Everything that the check can say of an answer, of a message that came in, or of a",
            "file. Words in braces are filled in.",
            "`humanmcp check` explains an answer without a session.",
        ),
        "| level | means |",
        {
            "J": "The JSON text",
            "R": "The JSON-RPC envelope",
            "M": "What MCP asks",
            "N": "An incoming line",
            "F": "The file that was written",
            "X": "The check itself",
        },
        {
            Severity.ERROR: "the client would fail or never see it: not sent unless you insist",
            Severity.WARNING: "some clients would fail or lose a part",
            Severity.HINT: "allowed; there is something to learn",
            Severity.REPAIRED: "has one meaning only, and is repaired in what is sent",
        },
        "Specification",
    ),
    "ja": Words(
        "ja",
        "問題点",
        (
            "回答、届いたメッセージ、ファイルについて、チェックが言うことのすべてです。",
            "波括弧の中の言葉は、そのときの値になります。",
            "`humanmcp check` を使うと、セッションなしで回答をチェックできます。",
        ),
        "| 段階 | 意味 |",
        {
            "J": "JSON の文",
            "R": "JSON-RPC の外側",
            "M": "MCP が求めること",
            "N": "届いた行",
            "F": "書かれたファイル",
            "X": "チェックそのもの",
        },
        {
            Severity.ERROR: "クライアントが失敗するか、回答が届かない。強いて送るまで送られない",
            Severity.WARNING: "失敗するクライアントや、一部を失うクライアントがある",
            Severity.HINT: "送れる。知っておくとよいことがある",
            Severity.REPAIRED: "意味が 1 つしかないので、直して送る",
        },
        "仕様",
    ),
}
"""The pages of the problems, one a language: a reader wants one of them."""


def in_order(code: str) -> tuple[str, int]:
    """Return what codes are put in order by: M99 stands before M100."""
    return code[0], int(code[1:])


def kinds() -> Mapping[str, type[raw.RawDiagnostic]]:
    """Return every class of a diagnostic by its code: each registers itself as its module loads."""
    for module in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}."):
        importlib.import_module(module.name)
    return raw.KINDS


def _diagnostics(words: Words) -> Iterator[str]:
    yield f"# {words.title}"
    yield ""
    yield from words.intro
    yield ""
    yield words.columns
    yield "| --- | --- |"
    for level, meaning in words.levels.items():
        yield f"| {_level(level, words)} | {meaning} |"
    for letter, title in words.groups.items():
        yield ""
        yield f"## {title}"
        for code, kind in sorted(kinds().items(), key=lambda one: in_order(one[0])):
            if code.startswith(letter):
                yield from diagnostic(kind, words)


def _level(level: Severity, words: Words) -> str:
    return say("check", level.value, words.language)


def diagnostic(kind: type[raw.RawDiagnostic], words: Words) -> Iterator[str]:
    """Show a problem as a person reads it, with the reason after it and where it is specified."""
    table, code = sentences_of("problem", words.language), kind.code
    yield ""
    yield f"### {code}"
    yield ""
    yield f"**{_level(kind.severity, words)}**: {plain(table[code])}"
    if reason := table.get(f"{code}.why"):
        yield ""
        yield plain(reason) + (f" [{words.specified}]({kind.page})" if kind.page else "")
    if example := mistakes.examples().get(code):
        yield from _example(example, words.language)


def _example(example: mistakes.Example, language: str) -> Iterator[str]:
    """Show a mistake made and mended, and the sentences that say so."""
    request = (("example request", example.request),) if example.request else ()
    texts = (("example wrong", example.wrong), ("example right", example.right))
    for title, text in (*request, *texts):
        if "```" not in text:  # what is wrong there would end the block that shows it
            yield from ("", say("check", title, language), "", "```text", visible(text), "```")
    for quote in example.quotes:
        yield from ("", f"[{quote.source}]({quote.link}):", "", "```text", quote.says, "```")
    if example.pages:
        links = (f"[{revision}]({page})" for revision, page in example.pages.items())
        yield from ("", f"`{example.method}`: {', '.join(links)}")


def plain(text: str) -> str:
    """Keep a sentence of our own from being read as Markdown or HTML."""
    return re.sub(
        r"([\\*_`<>\[\]])", r"\\\1", " ".join(text.replace("{{", "{").replace("}}", "}").split())
    )


# -- faults -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FaultWords:
    """What the page of the faults says beside the faults, in one language.

    A row is what can be sent wrong, and how with text files, terminal, page and interface. Words in
    braces are codes of `[desk]`: what the page itself writes on its buttons.
    """

    language: str
    title: str
    intro: tuple[str, ...]
    second: str
    about: tuple[str, ...]
    columns: str
    rows: tuple[tuple[str, str, str, str, str], ...]


FAULTS: Final = {
    "faults.md": FaultWords(
        "en",
        "Faults",
        (
            "The ways to break an answer on purpose: **{break}** in the page, `--break NAME` in",
            "the terminal. Each says what a good host does with it, so that you can judge yours.",
            "",
            "Each of these is one answer, sent once. What needs more than that comes first.",
        ),
        "What else can be sent wrong, and from where",
        (
            "Whatever is sent in one of these ways leaves a waiting request open, unless the row",
            "says that it answers it: the right answer can follow. All of it is in the transcript,",
            "marked as deliberate. The text files are beside `in.txt`. In the page, look at the",
            "request, or under **{say.title.server}** below the list. The interface's are bodies",
            "of `POST /api/sessions/NAME/say`.",
            "",
            "Over HTTP one process serves many clients: an exit and a crash end one session there.",
            "A crash cuts its connections, and afterwards there is no such session (404); the",
            "others notice nothing. A rule of the book takes each fault by its name, and",
            "`silence`, `exit` and `crash`.",
        ),
        "| what | text files | terminal | page | interface |",
        (
            (
                "an answer that the check refuses; it answers its request",
                "save it as `out.anyway.txt`",
                "`humanmcp answer N --message FILE --send-anyway`",
                "**{send anyway}**",
                '`POST …/reply` with `"anyway": true`',
            ),
            (
                "wrong first, right after; the same answer twice",
                "the line in `out.raw.txt`, with its line end",
                (
                    "`humanmcp answer N --keep-open --send-anyway`, also with `--break`; "
                    "`humanmcp say MESSAGE --send-anyway`, `--times 2`"
                ),
                "**{keep open}**",
                '`"anyway": true`',
            ),
            (
                "an answer to nobody, or after a cancel",
                "`out.anyway.txt`",
                "`humanmcp say MESSAGE --send-anyway`",
                "**{send anyway}**",
                '`"anyway": true`',
            ),
            (
                "list_changed, a log message, progress, a request",
                "`out.txt`; where the check refuses it, `out.anyway.txt`",
                "`humanmcp say --list-changed`, `--log`, `--progress`, `--ask`",
                "the buttons above the box",
                "the message as `text`",
            ),
            (
                "half a line without its end",
                "`out.raw.txt` without a line end",
                "`humanmcp say --bytes TEXT`",
                "**{say.raw}**",
                '`"order": "raw"`, `text` in base64',
            ),
            (
                "bytes that are not UTF-8",
                "`out.raw.txt`",
                r"`humanmcp say --bytes '\xff\n'`, `--bytes-of FILE`",
                r"**{say.raw}**: `\xff`",
                '`"order": "raw"`',
            ),
            (
                "silence: only what somebody types goes out",
                "`silence on` in `out.do.txt`",
                "`humanmcp say --silence on`",
                "**{say.silence}**",
                '`"order": "silence", "text": "on"`',
            ),
            (
                "no progress while somebody thinks",
                "`progress off` in `out.do.txt`",
                "`humanmcp say --own-progress off`",
                "**{progress.off}**",
                '`"order": "progress", "text": "off"`',
            ),
            (
                "an exit in order, with a status",
                "`exit 3` in `out.do.txt`",
                "`humanmcp say --exit 3`",
                "**{say.exit}**",
                '`"order": "exit", "text": "3"`',
            ),
            (
                "a crash",
                "`crash` in `out.do.txt`",
                "`humanmcp say --crash`",
                "**{say.crash}**",
                '`"order": "crash", "text": ""`',
            ),
            (
                "over HTTP: a right answer, carried wrongly (the last faults of this page)",
                "`http wrong-status 404` in `out.do.txt`; `http none` takes it back",
                "`humanmcp answer N --break wrong-status`",
                "**{break}**",
                '`"order": "http", "text": "wrong-status 404"`',
            ),
        ),
    ),
}
"""The pages of the faults, one a language."""


def _faults(words: FaultWords) -> Iterator[str]:
    yield f"# {words.title}"
    yield ""
    yield from _labelled(words, *words.intro)
    yield ""
    yield f"## {words.second}"
    yield ""
    yield from _labelled(words, *words.about)
    yield ""
    yield words.columns
    yield "| --- | --- | --- | --- | --- |"
    for what, files, terminal, page, interface in words.rows:
        (button,) = _labelled(words, page)
        yield f"| {what} | {files} | {terminal} | {button} | {interface} |"
    for fault in Fault:
        yield ""
        yield f"## {fault.value}"
        yield ""
        title = say("fault", fault.value, words.language)
        host = say("fault", f"{fault.value}.host", words.language)
        yield f"**{plain(title)}**: {plain(host)}"


def _labelled(words: FaultWords, *texts: str) -> Iterator[str]:
    """Fill in what the page writes on its buttons."""
    labels = sentences_of("desk", words.language)
    for text in texts:
        yield re.sub(r"\{([^{}]+)\}", lambda found: labels[found.group(1)], text)


# -- hosts ------------------------------------------------------------------------------------


HOST_PAGES: Final = {
    "hosts.md": (
        "en",
        "# How hosts behave",
        "",
        "Measured with the programs themselves, over stdio, in November 2026. `humanmcp hosts`",
        "prints the same; `make hosts` measures them again.",
        "A `?` was not measured. How to make a host wait longer:",
        "[connect a host](../how-to/connect-a-host.md).",
    ),
}
"""The pages of the hosts: the language, and what stands before the table."""


def _hosts(words: tuple[str, ...]) -> Iterator[str]:
    language, *beginning = words
    rows = hosts.table()
    yield from beginning
    yield ""
    yield from hosts.lines(rows, language)
    yield ""
    yield from (f"- {row['name']} {row['version']}: {row['ends']}" for row in rows if "ends" in row)


# -- conversations ----------------------------------------------------------------------------


def _quoting() -> Iterator[tuple[Path, str]]:
    """Bring what pages quote up to date: a block that is no part of its file becomes whole."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if QUOTE.search(text) or make_install.BLOCK.search(text):
            installed = make_install.BLOCK.sub(lambda _old: make_install.block(), text)
            yield page, QUOTE.sub(_quoted, installed)


def _quoted(found: re.Match[str]) -> str:
    opening, name, block = found.groups()
    whole = (ROOT / name).read_text(encoding="utf-8")
    return f"{opening}{block if is_part(block, whole) else whole}```"


def is_part(block: str, whole: str) -> bool:
    """Return True if a block is a run of whole lines of a file."""
    return f"\n{block}" in f"\n{whole}"


# -- text -------------------------------------------------------------------------------------


def _sentence(text: str, language: str) -> str:
    """Make a help line a sentence of its own."""
    text = text[:1].upper() + text[1:]
    return (
        text if text.endswith((".", "?", "!", "。")) else text + {"en": ".", "ja": "。"}[language]
    )


def _cell(text: str) -> str:
    """Fit a text into a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write every page that is not up to date."""
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
