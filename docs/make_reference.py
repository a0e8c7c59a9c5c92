"""Write what the manual has from the code: pages of docs/reference, and what other pages quote.

A command, a setting or a problem that is not on its page does not exist for a user; so the pages
come from the same tables as the program. A page quotes a conversation in a block after the comment
`quote: FILE`. `make docs` writes all of it; tests/test_docs.py fails when a committed page is
stale. What is long, or read by machines alone, goes into `build/`, which is not committed.
"""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docs import make_api, make_book_schema, make_install, make_man, make_manifests, make_types
from docs.brought import brought
from humanmcp import cli
from humanmcp.answering import mistakes
from humanmcp.cli import commands
from humanmcp.common.settings import DEFAULTS, FILE_NAME, PREFIX, brought_settings
from humanmcp.export import hosts
from humanmcp.locales import say, sentences_of
from humanmcp.protocol.diagnostics.kinds import KINDS, title_of
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json.visible import visible
from humanmcp.protocol.tables.faults import Fault
from humanmcp.setup.hosts import HOSTS, Host

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.diagnostics.problem import ProblemKind

ROOT: Final = Path(__file__).parent.parent
BUILD: Final = ROOT / "build"
CONVERSATIONS: Final = ROOT / "tests" / "conversations"
QUOTE: Final = re.compile(
    r"(^<!-- quote: (\S+) -->\n```[^\n]*\n)(.*?)^```$", re.MULTILINE | re.DOTALL
)
"""A block that quotes a file: (all before the block, the file, the block)."""
NOTICE: Final = "<!-- Made from the code by `make docs`: edit that instead. -->"


def pages() -> Mapping[Path, str]:
    """Make every page that is committed: where it stands and its text."""
    folder = ROOT / "docs" / "reference"
    return {
        folder / "commands.md": with_notice(_commands()),
        folder / "settings.md": with_notice(_settings()),
        folder / "problems.md": with_notice(_problems()),
        folder / "faults.md": with_notice(_faults()),
        folder / "api.md": with_notice(make_api.summary()),
        folder / "hosts.md": with_notice(_hosts()),
        folder / "book.schema.json": make_book_schema.text(),
        **dict(_quoting()),
    }


def built() -> Mapping[Path, str]:
    """Make what is not committed: long pages, the page of `man`, types."""
    folder = BUILD / "reference"
    return {
        folder / "problems.md": with_notice(_problems_in_full()),
        folder / "api.md": with_notice(make_api.page()),
        make_types.MADE: make_types.declarations(),
        make_man.MADE: make_man.page(),
    }


def with_notice(lines: Iterator[str]) -> str:
    """Make a page of lines that says where it comes from."""
    return "\n".join([NOTICE, "", *lines]) + "\n"


# -- commands ---------------------------------------------------------------------------------


def parser_of(command: str) -> argparse.ArgumentParser:
    """Make the parser of one command, with every argument it has."""
    return cli.parser_of(command, importlib.import_module(commands()[command]))


def _commands() -> Iterator[str]:
    yield from (
        "# Commands",
        "",
        "`humanmcp COMMAND --help` prints the same. Most flags are also [settings](settings.md):",
        "set them once, in the environment or in the settings file.",
    )
    for command in commands():
        yield ""
        yield f"## `humanmcp {command}`"
        yield ""
        parser = parser_of(command)
        yield _sentence(parser.description or "")
        arguments = [action for action in parser._actions if _is_shown(action)]  # noqa: SLF001 - argparse lists them nowhere else
        if arguments:
            yield ""
            yield "| argument | meaning |"
            yield "| --- | --- |"
            yield from (f"| {_spelled(action)} | {_meaning(action)} |" for action in arguments)
        if parser.epilog:
            yield ""
            yield _sentence(" ".join(parser.epilog.split()))


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


def _meaning(action: argparse.Action) -> str:
    text = (action.help or "") % {"default": action.default, "prog": "humanmcp"}
    if action.choices and not all(str(choice) in text for choice in action.choices):
        text += f": {', '.join(map(str, action.choices))}"
    return _cell(text)


# -- settings ---------------------------------------------------------------------------------


def _settings() -> Iterator[str]:
    yield from (
        "# Settings",
        "",
        f"A flag overrides the environment, the environment overrides `{FILE_NAME}` in the inbox",
        "folder (`~/.humanmcp`), and the file overrides the default. Hosts often start servers",
        "without your environment. The file and the flags always work.",
        "",
        "| setting | in the file | flag | environment | default | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    rows = [(name, default, "setting") for name, default in DEFAULTS.items()]
    rows += [(one.name, one.default, one.section) for one in brought_settings()]
    for name, default, section in rows:
        flag = "--" + name.replace("_", "-")
        in_file = "no: it says where the file is" if name == "home" else "yes"
        meaning = _cell(say(section, name, "en"))
        yield (
            f"| `{name}` | {in_file} | `{flag}` | `{PREFIX}{name.upper()}`"
            f" | {_default(default)} | {meaning} |"
        )


def _default(value: Any) -> str:  # noqa: ANN401 - a setting is text, a number or a truth value
    return "" if value == "" or value is False else f"`{value}`"


# -- problems ---------------------------------------------------------------------------------


GROUPS: Final = {
    "J": "The JSON text",
    "R": "The JSON-RPC envelope",
    "M": "What MCP asks",
    "N": "An incoming line",
    "F": "The file that was written",
    "X": "The check itself",
}
LEVELS: Final = {
    Severity.ERROR: "clients fail or never see the answer; only “Send anyway” sends it",
    Severity.WARNING: "some clients fail or lose a part",
    Severity.HINT: "allowed, but there is something to know",
    Severity.REPAIRED: "has only one meaning; humanmcp fixes it in the line that it sends",
}
SPECIFIED: Final = {"en": "Specification", "ja": "仕様"}


def _problems() -> Iterator[str]:
    """List every problem, one line each."""
    yield from (
        "# Problems",
        "",
        "All problems that the check can report in an answer, an incoming message or a file.",
        "Words in braces are filled in. `humanmcp check --explain NAME` explains one problem with",
        "an example: NAME is the name or the code. In the page, click the name.",
        "",
        "| level | means |",
        "| --- | --- |",
        *(f"| {_level(level, 'en')} | {meaning} |" for level, meaning in LEVELS.items()),
    )
    for title, group in _grouped():
        yield from ("", f"## {title}", "")
        for code, kind in group:
            yield f"- {title_of(code)}, {_level(kind.severity, 'en')}: {problem(code, 'en')}"


def _problems_in_full() -> Iterator[str]:
    """Explain every problem, with its example."""
    yield "# Problems, with examples"
    for title, group in _grouped():
        yield from ("", f"## {title}")
        for code, kind in group:
            yield from ("", f"### {title_of(code)}", "", *diagnostic(kind, "en"))


def _grouped() -> Iterator[tuple[str, list[tuple[str, ProblemKind]]]]:
    for letter, title in GROUPS.items():
        yield title, [(code, KINDS[code]) for code in mistakes.codes() if code.startswith(letter)]


def _level(severity: Severity, language: str) -> str:
    return say("check", severity.value, language)


def problem(code: str, language: str) -> str:
    """Return the sentence of a problem, for a page."""
    return plain(sentences_of("problem", language)[code])


def diagnostic(kind: ProblemKind, language: str) -> Iterator[str]:
    """Explain a problem: the level, the sentence, the reason, where it is specified, an example."""
    code = kind.code
    yield f"**{_level(kind.severity, language)}**: {problem(code, language)}"
    if reason := sentences_of("problem", language).get(f"{code}.why"):
        yield ""
        yield plain(reason) + (f" [{SPECIFIED[language]}]({kind.page})" if kind.page else "")
    if example := mistakes.examples().get(code):
        yield from _example(example, language)


def _example(example: mistakes.Example, language: str) -> Iterator[str]:
    """Show a mistake made and fixed, and the sentences that say so."""
    request = (("example request", example.request),) if example.request else ()
    texts = (("example wrong", example.wrong), ("example right", example.right))
    for title, text in (*request, *texts):
        if "```" not in text:  # what is wrong there would end the block that shows it
            yield from ("", say("check", title, language), "", "```text", visible(text), "```")
    for quote in example.quotes:
        yield from ("", f"[{quote.source}]({quote.link}):", "", "```text", quote.says, "```")
    if example.pages:
        links = (f"[{version}]({page})" for version, page in example.pages.items())
        yield from ("", f"`{example.method}`: {', '.join(links)}")


def plain(text: str) -> str:
    """Keep a sentence of our own from being read as Markdown or HTML."""
    return re.sub(
        r"([\\*_`<>\[\]])", r"\\\1", " ".join(text.replace("{{", "{").replace("}}", "}").split())
    )


# -- faults -----------------------------------------------------------------------------------


FAULT_ROWS: Final = (
    (
        "an answer that the check refuses; it closes its request",
        "`humanmcp answer N --message FILE --send-anyway`",
        "**{send anyway}**",
        '`POST …/reply` with `"anyway": true`',
    ),
    (
        "first a wrong answer, then the right one; the same answer twice",
        (
            "`humanmcp answer N --keep-open --send-anyway`, also with `--fault`; "
            "`humanmcp say MESSAGE --send-anyway`, `--times 2`"
        ),
        "**{keep open}**",
        '`"anyway": true`',
    ),
    (
        "an answer to no request, or after a cancel",
        "`humanmcp say MESSAGE --send-anyway`",
        "**{send anyway}**",
        '`"anyway": true`',
    ),
    (
        "list_changed, a log message, progress, a request",
        "`humanmcp say --list-changed`, `--log`, `--progress`, `--ask`",
        "the buttons above the box",
        "the message as `text`",
    ),
    (
        "half a line without its end",
        "`humanmcp say --bytes TEXT`",
        "**{say.raw}**",
        '`"order": "raw"`, `text` in base64',
    ),
    (
        "bytes that are not UTF-8",
        r"`humanmcp say --bytes '\xff\n'`, `--bytes-of FILE`",
        r"**{say.raw}**: `\xff`",
        '`"order": "raw"`',
    ),
    (
        "silence: only what a person types is sent",
        "`humanmcp say --silence on`",
        "**{say.silence}**",
        '`"order": "silence", "text": "on"`',
    ),
    (
        "no progress notifications",
        "`humanmcp say --own-progress off`",
        "**{progress.off}**",
        '`"order": "progress", "text": "off"`',
    ),
    (
        "an exit with a status",
        "`humanmcp say --exit 3`",
        "**{say.exit}**",
        '`"order": "exit", "text": "3"`',
    ),
    (
        "a crash",
        "`humanmcp say --crash`",
        "**{say.crash}**",
        '`"order": "crash", "text": ""`',
    ),
    (
        "over HTTP: a correct answer in a wrong response (the last faults of this page)",
        (
            "`humanmcp answer N --fault wrong-status`; `humanmcp say --http 'wrong-status 418'`, "
            "`--http none` ends it"
        ),
        "**{fault}**",
        '`"order": "http", "text": "wrong-status 404"`',
    ),
)
"""More ways to send faults: from terminal, page, interface.

Words in braces are codes of `[desk]`: what the page writes on its buttons. Extensions bring more.
"""


def _faults() -> Iterator[str]:
    yield from (
        "# Faults",
        "",
        _labelled(
            "A fault is a mistake that you send on purpose, to test a client: **{fault}** in the"
        ),
        "page, `--fault NAME` in a terminal. Each entry says what a good host does with it.",
        "",
        "The table lists faults that are more than one wrong answer. The other faults follow it.",
        "",
        "## More ways to send faults",
        "",
        "They leave a waiting request open, unless the row says otherwise: you can still send the",
        "right answer. The transcript marks them as deliberate.",
        _labelled("In the page, open the request, or **{say.title.server}** below the list."),
        "The column *interface* shows bodies of `POST /api/sessions/NAME/say`.",
        "",
        "Over HTTP, one process serves many clients: an exit or a crash ends one session there. A",
        "crash cuts the connections of its session, which then no longer exists (404). The other",
        "sessions notice nothing. A rule of the answer book takes each fault by its name, and",
        "`silence`, `exit` and `crash`.",
        "",
        "| what | terminal | page | interface |",
        "| --- | --- | --- | --- |",
        *(f"| {_labelled(' | '.join(row))} |" for row in (*FAULT_ROWS, *brought("faults"))),
    )
    for fault in Fault:
        title = say("fault", fault.value, "en")
        host = say("fault", f"{fault.value}.host", "en")
        yield from ("", f"## {fault.value}", "", f"**{plain(title)}**: {plain(host)}")


def _labelled(text: str) -> str:
    """Fill in what the page writes on its buttons: `{code}` of `[desk]`, or `{SECTION: code}`."""

    def label(match: re.Match[str]) -> str:
        return sentences_of(match[1] or "desk", "en")[match[2]]

    return re.sub(r"\{(?:(\w+): )?([a-z][a-z. ]*)\}", label, text)


# -- hosts ------------------------------------------------------------------------------------


def _hosts() -> Iterator[str]:
    rows = hosts.table()
    yield from (
        "# How hosts behave",
        "",
        "Measured with the programs themselves, over stdio, in November 2026. `humanmcp hosts`",
        "prints the same; `make hosts` measures them again. A `?` was not measured. To make a host",
        "wait longer: [connect a host](../how-to/connect-a-host.md).",
        "",
        *hosts.lines(rows),
        "",
        *(f"- {row['name']} {row['version']}: {row['ends']}" for row in rows if "ends" in row),
        "",
        "## Permission prompts",
        "",
        "A host starts a command for each prompt, a hook. So it reaches you: see",
        "[approve what an agent does](../how-to/approve-what-an-agent-does.md).",
        "",
        "| host | hook | version | source |",
        "| --- | --- | --- | --- |",
        *(_prompts_of(host) for host in HOSTS if host.prompts),
        "",
        "## Files",
        "",
        "Where each host has its servers on Linux. Of several places, the first one counts whose",
        "variable is set. Where variables were measured, `humanmcp/setup/hosts.toml` says so.",
        "",
        "| host | files |",
        "| --- | --- |",
        *(f"| {host.label} | {', '.join(map(_as_code, _files_of(host)))} |" for host in HOSTS),
    )


def _files_of(host: Host) -> Iterator[str]:
    for places in filter(None, (host.places, host.user_places)):
        yield from places[""]


def _as_code(text: str) -> str:
    return f"`{text}`"


def _prompts_of(host: Host) -> str:
    cells = (host.prompts[name] for name in ("how", "since", "known"))
    return f"| {host.label} | {' | '.join(cells)} |"


# -- conversations ----------------------------------------------------------------------------


def _quoting() -> Iterator[tuple[Path, str]]:
    """Bring what pages quote up to date: a block that is no part of its file becomes whole."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if found := make_install.BLOCK.search(text):
            language = "ja" if page.name.endswith(".ja.md") else "en"
            text = text.replace(found[0], make_install.block(language))
        if found or QUOTE.search(text):
            yield page, QUOTE.sub(_quoted, text)


def _quoted(found: re.Match[str]) -> str:
    opening, name, block = found.groups()
    whole = (ROOT / name).read_text(encoding="utf-8")
    return f"{opening}{block if is_part(block, whole) else whole}```"


def is_part(block: str, whole: str) -> bool:
    """Return True if a block is a run of whole lines of a file."""
    return f"\n{block}" in f"\n{whole}"


# -- text -------------------------------------------------------------------------------------


def _sentence(text: str) -> str:
    """Make a help line a sentence of its own."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."


def _cell(text: str) -> str:
    """Fit a text into a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write every page that is not up to date."""
    make_manifests.write(BUILD)
    for path, text in {**pages(), **built()}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
