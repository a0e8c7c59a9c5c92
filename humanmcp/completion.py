"""What a shell completes after `humanmcp`: `humanmcp --completion bash|zsh|fish` prints it.

Made from the parsers of the commands themselves; knows none of them by name.
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_FILES: Final = frozenset({"FILE", "FILE|-", "DIR", "TRANSCRIPT", "HOME", "FILES", "BOOK"})
"""How an argument is called that is a file or a folder."""


class Option(NamedTuple):
    """An argument as a shell sees it. Without flags it is one that stands for itself."""

    flags: tuple[str, ...]
    meaning: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    is_file: bool = False

    @property
    def takes_value(self) -> bool:
        """Return True if something has to follow it."""
        return bool(self.metavar)


class Command(NamedTuple):
    """A command: what it does, and what may stand after it."""

    name: str
    summary: str
    options: tuple[Option, ...]

    @property
    def flags(self) -> Iterator[str]:
        """Every flag, however it is spelled."""
        return (flag for option in self.options for flag in option.flags)

    @property
    def words(self) -> tuple[str, ...]:
        """What may stand there that is no flag, where it is one of few."""
        return tuple(word for one in self.options if not one.flags for word in one.choices)


def options_of(parser: argparse.ArgumentParser) -> tuple[Option, ...]:
    """Return the arguments of a parser, as a shell sees them."""
    return tuple(
        _option(action)
        for action in parser._actions  # noqa: SLF001 - argparse lists them nowhere else
        if action.help is not argparse.SUPPRESS
        and not isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 - as above
    )


def _option(action: argparse.Action) -> Option:
    names = action.metavar or action.dest.upper()
    metavar = " ".join(names) if isinstance(names, tuple) else names
    meaning = (action.help or "") % {"default": action.default, "prog": "humanmcp"}
    return Option(
        tuple(action.option_strings),
        " ".join(meaning.split()),
        metavar if action.nargs != 0 else "",
        tuple(str(choice) for choice in action.choices or ()),
        is_file=metavar in _FILES,
    )


def script(shell: str, commands: Sequence[Command], top: Command) -> str:
    """Return what a shell has to read; `top` is `humanmcp` without a command."""
    return "\n".join(SHELLS[shell](commands, top)) + "\n"


# -- bash -----------------------------------------------------------------------------------------


def _bash(commands: Sequence[Command], top: Command) -> Iterator[str]:
    names = (*(command.name for command in commands), *top.flags)
    yield "# humanmcp --completion bash: read by your shell, for example from ~/.bashrc with"
    yield '# eval "$(humanmcp --completion bash)"'
    yield "_humanmcp() {"
    yield "  local IFS=$'\\n' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words="
    yield "  COMPREPLY=()"
    yield '  if [ "$COMP_CWORD" -gt 1 ]; then'
    yield '    case "${COMP_WORDS[1]} $prev" in'
    for command in (*commands, *(top._replace(name=flag) for flag in top.flags)):
        yield from _bash_values(command)
    yield "    esac"
    yield "  fi"
    yield '  case "$COMP_CWORD ${COMP_WORDS[1]}" in'
    yield f"    1\\ *) words={_bash_list(names)} ;;"
    for command in commands:
        yield f"    *\\ {command.name})"
        yield f"      words={_bash_list(command.words)}"
        yield f"      case $cur in -*) words={_bash_list(command.flags)} ;; esac ;;"
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield "}"
    yield "complete -o default -F _humanmcp humanmcp"


def _bash_values(command: Command) -> Iterator[str]:
    """Complete the value of a flag: where it is one of few, to these, else to files."""
    for option in command.options:
        if option.flags and option.takes_value:
            after = "|".join(f'"{command.name} {flag}"' for flag in option.flags)
            words = f'COMPREPLY=($(compgen -W {_bash_list(option.choices)} -- "$cur")); '
            yield f"      {after}) {words if option.choices else ''}return ;;"


def _bash_list(words: Iterable[str]) -> str:
    """Quote words, a line each: once for this text, once for `-W`, once for what is typed."""
    escaped = (re.sub(r"([^\w.:=/-])", lambda found: "\\" * 6 + found[1], word) for word in words)
    return "$'" + "\\n".join(escaped) + "'"


# -- zsh ------------------------------------------------------------------------------------------


def _zsh(commands: Sequence[Command], top: Command) -> Iterator[str]:
    yield "#compdef humanmcp"
    yield "# humanmcp --completion zsh: a file _humanmcp in a folder of $fpath, or in ~/.zshrc,"
    yield '# after compinit: eval "$(humanmcp --completion zsh)"'
    yield "_humanmcp() {"
    yield "  local -a commands"
    yield "  commands=("
    yield from (f"    {_zsh_quoted(_zsh_named(one))}" for one in commands)
    yield "  )"
    yield "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then"
    yield "    _describe command commands"
    yield "    return"
    yield "  fi"
    yield "  local command=$words[2]"
    yield "  case $command in"
    for command in commands:
        yield f"    {command.name})"
        yield "      shift words; (( CURRENT-- ))"
        yield from _zsh_arguments(command)
    yield "    *)"
    yield from _zsh_arguments(top)
    yield "  esac"
    yield "}"
    yield "compdef _humanmcp humanmcp"


def _zsh_named(command: Command) -> str:
    return f"{command.name}:{command.summary.replace(':', chr(92) + ':')}"


def _zsh_arguments(command: Command) -> Iterator[str]:
    specs = [spec for option in command.options for spec in _zsh_specs(option)]
    yield "      _arguments \\"
    yield from (f"        {_zsh_quoted(spec)} \\" for spec in specs)
    yield "        && return ;;"


def _zsh_specs(option: Option) -> Iterator[str]:
    meaning = re.sub(r"([\[\]:\\])", r"\\\1", option.meaning)
    choices = " ".join(re.sub(r"([^\w.-])", r"\\\1", choice) for choice in option.choices)
    what = f"({choices})" if choices else "_files" if option.is_file else " "
    if not option.flags:
        yield f"*:{meaning}:{what}"
    for flag in option.flags:
        yield f"{flag}[{meaning}]" + (f":{meaning}:{what}" if option.takes_value else "")


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish -----------------------------------------------------------------------------------------


def _fish(commands: Sequence[Command], top: Command) -> Iterator[str]:
    yield "# humanmcp --completion fish: ~/.config/fish/completions/humanmcp.fish, or in"
    yield "# config.fish: humanmcp --completion fish | source"
    alone = "__fish_use_subcommand"
    for command in commands:
        summary = _fish_quoted(command.summary)
        yield f"complete -c humanmcp -f -n {alone} -a {command.name} -d {summary}"
    yield from (_fish_option(option, alone) for option in top.options)
    for command in commands:
        seen = _fish_quoted(f"__fish_seen_subcommand_from {command.name}")
        yield from (_fish_option(option, seen) for option in command.options)


def _fish_option(option: Option, when: str) -> str:
    names = [
        f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags
    ]
    choices = " ".join(re.sub(r"([^\w.-])", r"\\\1", choice) for choice in option.choices)
    values = ["-a", _fish_quoted(choices)] if choices else []
    if option.flags and option.takes_value:
        values = ["-r" if option.is_file else "-x", *values]
    words = ["complete", "-c", "humanmcp", "-n", when, *names, *values]
    return " ".join([*words, "-d", _fish_quoted(option.meaning)])


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: Final[Mapping[str, Callable[[Sequence[Command], Command], Iterator[str]]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
"""Each shell, and what writes its script."""
