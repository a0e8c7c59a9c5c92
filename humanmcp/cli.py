"""The command line: all commands, and the module of each one.

A command is a module with `add_arguments(parser)` and `run(arguments, settings) -> exit status`.
It is imported when it is called, so that `serve` starts without the other modules.
"""

from __future__ import annotations

import gc
import itertools
import os
import stat
import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp import __version__, extensions
from humanmcp.common.own_process import ending_in_order, open_standard_descriptors
from humanmcp.common.parsing import HELP, Formatter, Parser
from humanmcp.common.settings import SettingError, add_flags, load
from humanmcp.locales import language_of, speak
from humanmcp.locales.stop import StopError, called_on

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType


GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "first": {
        "serve": "humanmcp.server.serve",
        "desk": "humanmcp.desk.command",
        "inbox": "humanmcp.terminal.inbox",
        "answer": "humanmcp.terminal.answer",
        "config": "humanmcp.setup.config",
        "doctor": "humanmcp.setup.doctor",
    },
    "answering": {
        "show": "humanmcp.terminal.show",
        "check": "humanmcp.terminal.check",
        "say": "humanmcp.terminal.say",
    },
    "teaching": {},
    "roles": {},
    "between": {},
    "sessions": {
        "export": "humanmcp.export.command",
        "forget": "humanmcp.terminal.forget",
        "hosts": "humanmcp.export.hosts",
    },
}
"""Every command of the core and its module, in the groups of the help, which extensions fill too.

Their help is in `locales/`.
"""

COMMANDS: Final[Mapping[str, str]] = {
    name: module for group in GROUPS.values() for name, module in group.items()
}


def groups() -> Mapping[str, Mapping[str, str]]:
    """Return every command and its module, in the groups of the help: those of extensions first."""
    found: dict[str, dict[str, str]] = {code: {} for code in GROUPS}
    for name, command in extensions.commands().items():
        if name not in COMMANDS:
            found.setdefault(command.group, {})[name] = command.module
    merged = {code: {**group, **GROUPS.get(code, {})} for code, group in found.items()}
    return {code: group for code, group in merged.items() if group}


def commands() -> Mapping[str, str]:
    """Return every command and its module."""
    return {name: module for group in groups().values() for name, module in group.items()}


def module_of(name: str) -> str:
    """Return the module of a command, "" for an unknown one. No extension replaces one of ours."""
    if name in COMMANDS:
        return COMMANDS[name]
    found = extensions.command(name)
    return found.module if found else ""


SHELL_NAMES: Final = ("bash", "zsh", "fish")
"""The shells whose completion can be printed."""
_FILES: Final = frozenset({"FILE", "FILE|-", "FOLDER", "TRANSCRIPT"})
"""The metavars of arguments that are files or folders."""
INTERRUPTED: Final = 130
"""The exit status after Ctrl-C: 128 plus the number of SIGINT."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words:
        words = ["serve"] if _stdin_is_a_pipe() else []
    words = _ordered(words)
    if words[:1] == ["help"]:  # `humanmcp help answer` is `humanmcp answer --help`
        words = [*words[1:2], "--help", *words[2:]]
    speak(_language(words))
    try:
        if not words:
            return _welcome()
        if not module_of(words[0]):
            return _without_command(words)
        return _run(words[0], words[1:])
    except StopError as error:
        from humanmcp.common.terminal import to_stderr  # noqa: PLC0415 - no server needs it

        to_stderr("humanmcp: ", error.sentence())
        return error.status
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(name: str, words: Sequence[str]) -> int:
    # Imported modules are no garbage; collecting during the import costs a server 6 ms,
    # and once more afterwards: `freeze` excludes them.
    gc.disable()
    open_standard_descriptors()
    module = _imported(name)
    arguments = parser_of(name, module, words).parse_args(words)
    gc.freeze()
    gc.enable()
    try:
        settings = load(vars(arguments), more=getattr(module, "SETTINGS", ()))
    except StopError as error:
        if hasattr(module, "cannot_start"):  # who starts it waits for more than a status
            return int(module.cannot_start(arguments, error))
        raise
    speak(language_of(settings.lang))
    with ending_in_order():
        return int(module.run(arguments, settings))


def _imported(name: str) -> ModuleType:
    found = None if name in COMMANDS else extensions.command(name)
    if found is None:
        return import_module(COMMANDS[name])
    return called_on(found.extension, name, import_module, found.module)  # type: ignore[no-any-return]  # it is a module


def _left_out(name: str, otherwise: Any, function: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401 - what it returns
    """Call a function of a command; of an extension's command leave out what raises."""
    found = None if name in COMMANDS else extensions.command(name)
    if found is None:
        return function(*given)
    return extensions.call(found.extension, name, function, *given, otherwise=otherwise)


def _without_command(words: Sequence[str]) -> int:
    """Do what the flags before a command ask for, or say which command is missing."""
    parser = _overview().parser
    shell = parser.parse_args(words).completion
    if not shell:
        parser.error("the following arguments are required: COMMAND")
    from humanmcp.common.terminal import raw_to_stdout  # noqa: PLC0415 - no server needs it

    raw_to_stdout(_completion(shell).removesuffix("\n"))
    return 0


def _welcome() -> int:
    from humanmcp.welcome import welcome  # noqa: PLC0415 - no server needs it

    welcome(load({}))
    return 0


def _language(words: Sequence[str]) -> str:
    """Return the language for errors of the command line, before it is parsed."""
    flags = {name: _flag(words, f"--{name}") for name in ("home", "lang")}
    try:
        return language_of(load(flags).lang)
    except SettingError:
        return language_of(flags["lang"])


def _ordered(words: Sequence[str]) -> list[str]:
    """Move `--lang` behind the command or flag that follows it."""
    first = words[0] if words else ""
    taken = 2 if first == "--lang" else 1 if first.startswith("--lang=") else 0
    return [*words[taken : taken + 1], *words[:taken], *words[taken + 1 :]]


def _flag(words: Sequence[str], name: str) -> str:
    for word, after in itertools.pairwise((*words, "")):
        if word == "--":
            break
        if word == name:
            return after
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return ""


def parser_of(name: str, module: ModuleType, words: Sequence[str] = HELP) -> Parser:
    """Make the parser of one command. Its help is only loaded if these words ask for it."""
    parser = Parser(words, prog=f"humanmcp {name}")
    parser.description = _summary(parser, name)
    module.add_arguments(parser)
    return parser


def _summary(parser: Parser, name: str) -> str:
    found = None if name in COMMANDS else extensions.command(name)
    if found is None:
        return parser.words("command")(name)
    return parser.words(found.extension)(f"command {name}")


def _stdin_is_a_pipe() -> bool:
    """Return True if a program starts us: then `humanmcp` without arguments is the server."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class _Overview(NamedTuple):
    """The parser of the command line, and that of each command, without its arguments."""

    parser: Parser
    commands: Mapping[str, Parser]


def _overview() -> _Overview:
    """Make the parser of the overview of all commands."""
    parser = Parser(prog="humanmcp")
    words, found = parser.words("cli"), groups()
    parser.description, parser.epilog = words("description"), words("epilog")
    flag = parser.flags("cli", "help ")
    flag("-v", "--version", action="version", version=f"humanmcp {__version__}")
    flag("--completion", choices=SHELL_NAMES)
    add_flags(parser, "lang")
    commands = parser.add_subparsers(title=words("commands"), metavar="COMMAND")
    headings = {words(f"group {code}"): tuple(group) for code, group in found.items()}
    parser.formatter_class = partial(Formatter, groups=headings)
    return _Overview(
        parser,
        {
            name: commands.add_parser(name, help=_left_out(name, "", _summary, parser, name))
            for group in found.values()
            for name in group
        },
    )


def _add_arguments(name: str, command: Parser) -> None:
    import_module(module_of(name)).add_arguments(command)


def _completion(shell: str) -> str:
    """Return the completion script of a shell, for all commands, flags and values."""
    shtab = import_module("shtab")  # no server needs it
    overview = _overview()
    for name, command in overview.commands.items():
        _left_out(name, None, _add_arguments, name, command)
        for action in command._actions:  # noqa: SLF001 - argparse lists them nowhere else
            if action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined] # it looks there
    return str(shtab.complete(overview.parser, shell))
