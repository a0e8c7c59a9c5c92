"""`humanmcp host`: a chat with a model that may use the tools of several servers."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.parsing import from_one, seconds
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import to_stderr
from humanmcp.extensions.host.at_inbox import QuestionInbox, WhenAsked
from humanmcp.extensions.host.client.callbacks import ClientObserver
from humanmcp.extensions.host.client.client import LONGEST, TIMEOUT
from humanmcp.extensions.host.client.handshake import Identity, SessionStart
from humanmcp.extensions.host.closing import undisturbed
from humanmcp.extensions.host.config import DEFAULT_NAME, read_config
from humanmcp.extensions.host.conversation import ToolFilter
from humanmcp.extensions.host.models.choose import (
    AUTO,
    IMAGES,
    ModelChoice,
    key_kept_back,
    make_model,
)
from humanmcp.extensions.host.sampling import SampledByModel, Sampler
from humanmcp.extensions.host.servers import HostLoop, Limits, Servers
from humanmcp.extensions.host.terminal.chat import AtHost, AtHostOnce, Chat, ask_once
from humanmcp.extensions.host.terminal.results import AtTerminal, WireLog
from humanmcp.extensions.host.terminal.typing import Typist
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Role
from humanmcp.locales import say
from humanmcp.locales.stop import USAGE_ERROR

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.extensions.host.client.callbacks import ServerRequestHandler
    from humanmcp.extensions.host.conversation import Turn
    from humanmcp.extensions.host.models import Model

SECTION: Final = "host"
SAMPLING: Final = ("human", "model", "no")
"""Who answers a server that asks for a turn of a model."""
NAME: Final = Identity("humanmcp-host", "1.0.0")


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    flag("--config", metavar="FILE", default="")
    flag("--start", choices=[one.value for one in SessionStart], default=SessionStart.PROBE.value)
    flag("-m", "--model", metavar="MODEL", default="human")
    flag("--base-url", metavar="URL", default="")
    flag("--key-file", metavar="FILE", default="")
    flag("--key-variable", metavar="NAME", default="")
    flag("--max-tokens", metavar="N", type=from_one, default=0)
    flag("--images", choices=IMAGES, default=AUTO)
    flag("--sampling", choices=SAMPLING, default=SAMPLING[0])
    flag("--system", metavar="TEXT", default="")
    flag("-p", "--prompt", metavar="TEXT", default="")
    flag("--json", action="store_true")
    flag("--tools", metavar="PATTERN", action="append", default=[])
    flag("--no-tools", metavar="PATTERN", action="append", default=[])
    flag("--record", metavar="FILE", default="")
    flag("--turns", metavar="N", type=from_one, default=Limits().turns)
    flag("--calls", metavar="N", type=from_one, default=Limits().calls)
    flag("--timeout", metavar="SECONDS", type=seconds, default=TIMEOUT)
    flag("--longest", metavar="SECONDS", type=seconds, default=LONGEST)
    flag("--yes", action="store_true")
    flag("--desk", action="store_true")
    flag("--wire", action="store_true")
    add_flags(parser, "home", "lang", "title")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Talk until the end of input. Returns the exit status; no child is left behind."""
    if arguments.json and not arguments.prompt:
        to_stderr("humanmcp: ", say(SECTION, "json of what"))
        return USAGE_ERROR
    with contextlib.ExitStack() as stack:
        _talk(arguments, settings, stack)
    return 0


def _talk(arguments: argparse.Namespace, settings: Settings, stack: contextlib.ExitStack) -> None:
    """Start the servers and the model, and talk.

    Raises:
        StopError: something cannot start, or the one prompt of `-p` came to nothing.
    """
    path = Path(arguments.config or Path.home() / DEFAULT_NAME).expanduser()
    entries = read_config(path)
    typist = Typist()

    def desk(role: Role, server: str = "") -> QuestionInbox:
        inbox = open_inbox(home_folder(settings.home))
        title = " ".join(word for word in (settings.title, server) if word)
        session = QuestionInbox(inbox, role, title=title, asker=NAME.name)
        line = say(SECTION, f"at the desk {role.value}", name=session.name, server=server)
        to_stderr(line)
        return session

    choice = ModelChoice(
        arguments.model,
        lambda: desk(Role.MODEL),
        arguments.base_url,
        arguments.key_file,
        arguments.record,
        arguments.key_variable,
        arguments.max_tokens,
        arguments.images,
    )
    kept_back = key_kept_back(choice)
    if kept_back is not None:
        to_stderr(kept_back.sentence())
    model = make_model(choice)
    stack.callback(model.close)
    sampler = _sampler(arguments, choice, model) if arguments.sampling == "model" else None
    servers = Servers(
        entries,
        _respondents(typist, stack, desk if arguments.desk else None, sampler),
        identity=NAME if arguments.sampling != "no" else _without_sampling(NAME),
        observer=lambda name: (
            WireLog(name=name, above=typist.above) if arguments.wire else ClientObserver()
        ),
        session_start=SessionStart(arguments.start),
        timeout=arguments.timeout,
        longest=arguments.longest,
        wait=typist.wait,
        tools=ToolFilter(_patterns(arguments.tools), _patterns(arguments.no_tools)),
    )
    stack.callback(undisturbed(servers.close))
    kind = AtHostOnce if arguments.prompt else AtHost
    person = kind(typist, call_all=arguments.yes, definition=servers.definition)
    loop = HostLoop(
        model,
        servers,
        person,
        system=arguments.system,
        limits=Limits(arguments.turns, arguments.calls),
    )
    if arguments.prompt:
        ask_once(loop, arguments.prompt, json=arguments.json)
    else:
        Chat(loop, person, typist).run()


def _patterns(typed: list[str]) -> tuple[str, ...]:
    return tuple(word.strip() for one in typed for word in one.split(",") if word.strip())


def _respondents(
    typist: Typist,
    stack: contextlib.ExitStack,
    desk: Callable[[Role, str], QuestionInbox] | None,
    sampler: Sampler | None,
) -> Callable[[str], ServerRequestHandler]:
    """Return a factory of request handlers, by the name of the server."""

    def respondent(name: str) -> ServerRequestHandler:
        otherwise: ServerRequestHandler = AtTerminal(typist, server=name)
        if desk is not None:
            otherwise = questions = WhenAsked(lambda: desk(Role.CLIENT, name))
            stack.callback(questions.end)
        return SampledByModel(sampler, otherwise, typist, name) if sampler else otherwise

    return respondent


def _sampler(arguments: argparse.Namespace, choice: ModelChoice, model: Model) -> Sampler:
    """Return the host's model as servers may ask it: with the tokens that they allow."""

    def take_turn(turns: Sequence[Turn], tokens: int) -> Turn:
        if choice.service is None or not tokens:
            return model.turn(turns, (), lambda _piece: None)
        most = min(tokens, choice.max_tokens or tokens)
        own = make_model(replace(choice, max_tokens=most, record=""))
        try:
            return own.turn(turns, (), lambda _piece: None)
        finally:
            own.close()

    return Sampler(arguments.model, take_turn, without_asking=arguments.yes)


def _without_sampling(identity: Identity) -> Identity:
    kept = {name: one for name, one in identity.capabilities.items() if name != "sampling"}
    return replace(identity, capabilities=kept)
