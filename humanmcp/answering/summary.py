"""Summarise a message in a few words, for the rows of every front end and export.

Pure. Control characters are made visible, and the text fits on one line. It is not escaped: a
caller escapes it for its medium.
"""

from __future__ import annotations

import enum
import json
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from humanmcp.answering.open_exchange import read_line
from humanmcp.answering.standing import Standing, prompt_of, standing_of
from humanmcp.answering.steps import gist_of_frame, step_of
from humanmcp.common.timestamps import seconds_of
from humanmcp.inbox.contract import Answer, Item, Key, Purpose, named_author
from humanmcp.inbox.letters import letter_of, rank_of
from humanmcp.locales import find_sentence, say, who
from humanmcp.protocol.conversation import approvals
from humanmcp.protocol.conversation.exchange import name_of
from humanmcp.protocol.conversation.prompts import prompt_in
from humanmcp.protocol.conversation.questions import inquiry_of
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import (
    SPOKEN,
    Direction,
    is_foreign,
    is_of_prompt,
    is_of_step,
    seen_by_client,
)
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import (
    Batch,
    DecodedLine,
    Kind,
    Malformed,
    Message,
)
from humanmcp.protocol.json.tree import follow, object_at, objects_at, text_at
from humanmcp.protocol.json.undecoded import MOST_VALUES, outline
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import methods, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from humanmcp.inbox.contract import DeskInbox, SessionFacts, Waiting
    from humanmcp.protocol.conversation.prompts import AgentPrompt
    from humanmcp.protocol.conversation.transcript import Frame

    ReadLine: TypeAlias = Callable[[str], DecodedLine]
    """Decodes a line, or returns it from a cache."""

GIST: Final = 160
"""Characters of a message that a row of a list shows."""

LINE_BREAK: Final = " ⏎ "
"""A line break of a command or a plan, in a row."""

FIRST_ITEMS: Final = 3
"""Items of a list of plain values that a row shows."""

INLINE: Final = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")
"""Code, or strong words, in a line of Markdown."""

COLOURS: Final = 6
"""Number of accent colours of sessions; only the letter is unique."""


class LineKind(enum.Enum):
    """The kind of a recorded line."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESULT = "result"
    ERROR = "error"
    BATCH = "batch"
    MALFORMED = "malformed"
    BLANK = "blank"
    NOTE = "note"
    STDERR = "err"
    PROMPT = "prompt"
    """A permission prompt, as an agent wrote it."""
    DECISION = "decision"
    """What was printed for it."""
    STEP = "step"
    """What is no message of MCP, of a kind that an extension brings."""
    STEP_ANSWER = "step answer"


def message_in(frame: Frame) -> DecodedLine | None:
    """Decode a recorded line, or the beginning of a large one; None for what is no line of MCP."""
    if frame.direction not in SPOKEN or is_foreign(frame):
        return None
    long = len(frame.raw) > MOST_VALUES
    return jsonrpc.read_text(outline(frame.text)) if long else jsonrpc.read(frame.raw)


def line_kind(frame: Frame, found: DecodedLine | None) -> LineKind:
    match found:
        case None if is_of_prompt(frame):
            return LineKind.PROMPT if frame.direction is Direction.IN else LineKind.DECISION
        case None if is_of_step(frame):
            return LineKind.STEP if frame.direction is Direction.IN else LineKind.STEP_ANSWER
        case None:
            return LineKind(frame.direction.value)
        case Message():
            return LineKind(found.kind.value)
        case Batch():
            return LineKind.BATCH
        case Malformed():
            return LineKind.MALFORMED if frame.raw.strip() else LineKind.BLANK


class Summary(NamedTuple):
    """The summary of a message: the tool or prompt that it names, and its content.

    `wants` is what it asks a person for, a code of the section `wants`; "" where its method says
    it. `tool` is the tool that wants permission.
    """

    name: str = ""
    gist: str = ""
    wants: str = ""
    tool: str = ""
    agent: str = ""
    """The kind of the sub-agent that asks, "" for a main one."""


def summary_of(message: Message) -> Summary:
    """Summarise a message; the summary of a question to a person is the question."""
    match message.kind:
        case Kind.REQUEST | Kind.NOTIFICATION:
            name, words = _words(message.method, message.params)
            return _asks_person(message, name) or Summary(name, words)
        case Kind.RESULT | Kind.ERROR:
            return Summary("", outcome(message.body))


def _asks_person(message: Message, name: str) -> Summary | None:
    """Summarise a permission prompt, or questions to a person; None for any other message."""
    if message.method != "tools/call":
        return None
    asked = inquiry_of(message)
    if asked is not None:
        words = INLINE.sub(lambda one: one[1] or one[2], asked.text)
        return Summary(name, one_line(words, GIST), "answer")
    arguments = object_at(message.params, "arguments")
    tool, given = text_at(arguments, "tool_name"), arguments.get("input")
    if not tool or not isinstance(given, dict):
        words = _questions(arguments)
        return Summary(name, words, "answer") if words else None
    return _of_tool(tool, given, name)


def summary_of_prompt(prompt: AgentPrompt, line: str) -> Summary:
    """Summarise what an agent asks in a permission prompt, which came as this line."""
    said = Summary("", one_line(line[:GIST], GIST), "unread")
    if not prompt.problem:
        said = _of_tool(prompt.tool, approvals.read_once(prompt.input)[0])
    return said._replace(agent=one_line(prompt.agent_type, 40))


def summary_of_frame(frame: Frame) -> Summary | None:
    """Summarise a prompt, a decision about one or what became of it, or a step.

    None for any other line.
    """
    step = gist_of_frame(frame)
    if step is not None:
        return Summary(*(one_line(words, GIST) for words in step))
    prompt = prompt_in(frame)
    if prompt is not None:
        return summary_of_prompt(prompt, frame.text)
    action, is_printed = approvals.action_in(frame.decision), is_of_prompt(frame)
    if frame.direction is Direction.IN or not (is_printed or (action and frame.number)):
        return None
    if action == "answer" and not (is_printed or text_at(_decision_in(frame.text), "behavior")):
        return None
    wants = f"decided {action or 'by nobody'}"
    if find_sentence("wants", wants) is None:
        return None
    return Summary("", one_line(" ".join(words_of_decision(frame.text)), GIST), wants)


def words_of_decision(line: str) -> Iterator[str]:
    """Yield the words for the model in what decides a prompt, in the form of any agent."""
    body = _decision_in(line)
    places = (("hookSpecificOutput", "decision"), ("hookSpecificOutput",), ())
    names = ("message", "permissionDecisionReason", "reason", "agent_message")
    found = (text_at(body, *place, name) for place in places for name in names)
    yield from list(filter(None, found))[:1]


def _decision_in(line: str) -> object:
    """Return what decides a prompt: what was printed, or the text of a response."""
    body, _ = approvals.read_once(line)
    text = text_at(body, "result", "content", 0, "text")
    return approvals.read_once(text)[0] if text else body


def author_of(frame: Frame) -> str:
    """Return who decided a recorded line: a name with its device, or a code (`locales.who`)."""
    record = jsonrpc.object_in(frame.decision) if frame.decision else {}
    return named_author(text_at(record, "who"), text_at(record, "device")) or frame.by


def _of_tool(tool: str, given: dict[str, Any], name: str = "") -> Summary:
    """Summarise that an agent wants to use a tool."""
    if tool in approvals.QUESTION_TOOLS and (words := _questions(given)):
        return Summary(name, words, "answer")
    kind = approvals.kind_of_input(given, tool)
    words = text_at(given, _SUBJECT[kind])[:GIST] if kind in _SUBJECT else ""
    words = words.strip().replace("\r\n", "\n").replace("\n", LINE_BREAK)
    return Summary(name, one_line(words, GIST) or gist(given), kind, one_line(tool, 80))


_SUBJECT: Final = {"command": "command", "edit": "file_path", "file": "file_path", "plan": "plan"}
"""The member of the input that says best what is asked for."""


def _questions(arguments: dict[str, Any]) -> str:
    several = objects_at(arguments, "questions")
    return one_line(" · ".join(text_at(one, "question")[:GIST] for one in several), GIST)


def _words(method: str, params: dict[str, Any]) -> tuple[str, str]:
    """Return name and content of a row."""
    record = methods.of(method)
    if record.arguments:
        return _text(params.get("name")), gist(params.get(record.arguments, {}))
    if record.introduces:
        return _client(params)
    shown = params.get(record.gist)
    if isinstance(shown, dict):
        return "", gist(shown)
    # of what was said to a model the last counts
    words = _words_in(shown[-1:] if isinstance(shown, list) else shown)
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return "", one_line(words, GIST) if words else gist(rest)


def _words_in(said: Any) -> str:  # noqa: ANN401 - any JSON value
    match said:
        case str():
            return said
        case {"text": str(words)}:
            return words
        case {"content": inner}:
            return _words_in(inner)
        case [*parts]:
            return next(filter(None, map(_words_in, parts)), "")
        case _:
            return ""


def _client(params: dict[str, Any]) -> tuple[str, str]:
    client = params.get("clientInfo", follow(params, "_meta", versions.META_CLIENT))
    return "", _program(client)


def _program(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the name and the version by which a client or server introduces itself."""
    program = object_at(value)
    words = f"{_text(program.get('name'))} {_text(program.get('version'))}".strip()
    return one_line(words, GIST)


def gist(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Summarise an object, such as `city: "Tokyo", days: 3`."""
    if isinstance(value, dict):
        words = ", ".join(f"{key}: {_short(part)}" for key, part in islice(value.items(), 12))
    else:
        words = _short(value)
    return one_line(words, GIST)


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON value
    match value:
        case dict():
            return "{…}" if value else "{}"
        case list():
            return _short_list(value)
        case str():
            return f'"{value[:GIST]}"'
        case _:
            return json.dumps(value)


def _short_list(items: list[Any]) -> str:
    """Show the first items; of a list of objects, one and their number."""
    first = ["[…]" if isinstance(one, list) else _short(one) for one in items[:FIRST_ITEMS]]
    if len(items) > 1 and isinstance(items[0], dict | list):
        return f"[{first[0]} \N{MULTIPLICATION SIGN}{len(items)}]"
    return f"[{', '.join([*first, '…'][: len(items)])}]"


def _text(value: object) -> str:
    return one_line(text_at(value), GIST)


def outcome(body: dict[str, Any]) -> str:
    """Summarise an answer: its text, its error, or its members."""
    error = body.get("error")
    if isinstance(error, dict):
        return one_line(f"{_short(error.get('code'))} {_text(error.get('message'))}", GIST)
    result = body.get("result")
    if isinstance(result, dict) and (texts := list(_texts(result.get("content")))):
        return one_line(" ".join(texts), GIST)
    if isinstance(result, dict) and (server := _program(result.get("serverInfo"))):
        return ", ".join(filter(None, (server, _text(result.get("protocolVersion")))))
    return gist(result)


def _texts(content: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    for entry in objects_at(content):
        if isinstance(entry.get("text"), str):
            yield entry["text"][: GIST * 2]


# -- rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Badge:
    """How a session is recognised: a letter (A, B, … Z, AA, …) and one of six colours."""

    letter: str
    colour: int


def badge(rank: int) -> Badge:
    """Return the badge of the letter that counts `rank`, from 0."""
    return Badge(letter_of(rank).upper(), rank % COLOURS)


def badge_of(facts: SessionFacts) -> Badge:
    """Return the badge of a session: its letter, or the end of its name while it has none."""
    return badge(rank_of(facts.letter)) if facts.letter else Badge(facts.name[-4:], 0)


class Asker(NamedTuple):
    """Who asks, and where. `session` is the agent's own name of its session, or ours."""

    session: str
    folder: str
    place: str
    """Both in words, without the name of the session."""
    is_hook: bool = False

    @property
    def key(self) -> str:
        """What tells it from others."""
        return f"{self.session} {self.folder}"


def asker_of(facts: SessionFacts) -> Asker:
    """Return who asks in a session."""
    is_guest = facts.role.traits.is_guest
    return Asker(facts.agent or facts.name, facts.folder, place_of(facts), is_guest)


@dataclass(frozen=True, slots=True)
class Row:
    """One exchange in a list. `arrived` counts in seconds since 1970, for the clock of the page."""

    key: Key
    badge: Badge
    method: str
    summary: Summary
    standing: Standing
    arrived: float
    waiting: Waiting
    asker: Asker
    purpose: Purpose = Purpose.ANSWER
    touched: bool = False
    """A person has begun an answer, which is a draft."""

    @property
    def subscription(self) -> bool:
        """Whether it is an open subscription, or about a parked call: no person answers it."""
        return self.standing in (Standing.SUBSCRIPTION, Standing.FOLLOWS)

    @property
    def parked(self) -> bool:
        """Whether its client fetches the answer later."""
        return self.standing in (Standing.PARKED, Standing.STORED)

    @property
    def anchor(self) -> str:
        """The part of an address that names this exchange, from our own names only."""
        return f"{self.key.session}/{self.key.number}"


def summary_of_item(item: Item, read: ReadLine = read_line) -> Summary:
    """Summarise an exchange; an answer has the name of its request."""
    if item.purpose is Purpose.PROMPT:
        return summary_of_prompt(prompt_of(item), item.line)
    if (step := step_of(item)) is not None:
        step_in_short = step.gist(item.method, item.line, inwards=True)
        return Summary(*(one_line(words, GIST) for words in step_in_short))
    if item.held.unread:
        return Summary("", one_line(item.line[:GIST], GIST))
    found, asked = read(item.line), read(item.held.asked) if item.held.asked else None
    said = summary_of(found) if isinstance(found, Message) else Summary()
    return said._replace(name=summary_of(asked).name) if isinstance(asked, Message) else said


def row(item: Item, facts: SessionFacts, read: ReadLine = read_line) -> Row:
    draft = item.draft
    return Row(
        key=item.key,
        badge=badge_of(facts),
        method=one_line(item.method, 60),
        summary=summary_of_item(item, read),
        standing=standing_of(item, facts.life),
        arrived=seconds_of(item.arrived),
        waiting=item.waiting,
        purpose=item.purpose,
        touched=draft is not None and draft.touched,
        asker=asker_of(facts),
    )


def row_title(said: Summary) -> str:
    """Say what a person is asked for, or name the tool or prompt; "" if it names none."""
    words = say("wants", said.wants, tool=said.tool) if said.wants else said.name
    return f"{said.agent}: {words}" if said.agent else words


def answered_by(item: Item, here: str = "") -> str:
    """Say who answered, to a reader at the device `here`; "" is the computer of the desk."""
    reply, by = item.reply, "" if item.answer is None else item.answer.by
    if reply is None:
        return who(by)
    if here and not reply.device:
        return say(
            "by", "computer named" if reply.who else "computer", name=one_line(reply.who, 60)
        )
    return one_line(reply.author, 90) or who(by or reply.by)


def reason_of(item: Item) -> str:
    """Return the words for the model with which a prompt was denied, "" for any other exchange."""
    if item.answer is None or item.answer.action != "deny":
        return ""
    return one_line(" ".join(words_of_decision(item.answer.line)), 300)


def place_of(facts: SessionFacts) -> str:
    """Say who asks and where: what the person calls the session, or its client; and its folder."""
    asker = one_line(facts.title or facts.client, 40)
    return " · ".join(filter(None, (asker, folder_of(facts))))


def folder_of(facts: SessionFacts) -> str:
    """Return the end of the folder in which a client started a session."""
    *_, parent, name = ["", "", *re.split(r"[/\\]+", facts.folder.rstrip("/\\"))]
    return one_line(f"…/{parent}/{name}" if parent else name, 80)


_LONGEST_LETTER: Final = 4
"""Characters: an inbox of 475,254 sessions has no longer one."""


def sessions_named(sessions: Iterable[SessionFacts], name: str) -> list[SessionFacts]:
    """Find sessions by their letter, else by their name or its end, else by its beginning.

    What could be a letter is no beginning: that of a session which is gone would be another's.
    """
    listed, lowered = list(sessions), name.lower()
    begins = bool(name) and not (name.isalpha() and len(name) <= _LONGEST_LETTER)
    for found in (
        [one for one in listed if one.letter == lowered],
        [one for one in listed if name in (one.name, one.name.rpartition("-")[2])],
        [one for one in listed if begins and one.name.startswith(name)],
    ):
        if found:
            return found
    return []


def client_of(facts: SessionFacts) -> str:
    """Name the client of a session, in its own words on one line."""
    return one_line(" ".join(word for word in (facts.client, facts.client_version) if word), 80)


_TO_GAIN_TIME: Final = "retry"
"""The note of an answer that only asks the client to repeat its request."""


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """A request of the client's. `result` and `error` are None as long as there is no answer.

    `arguments` are those of a tool or a prompt, the whole `params` elsewhere. `at` and
    `answered_at` are in UTC, `by` is who answered: `book: rule 2`, `desk`, …
    """

    number: int
    request: Message
    name: str
    arguments: dict[str, Any]
    at: str
    answer: str = ""
    answered_at: str = ""
    by: str = ""
    result: Any = None
    error: Any = None

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def line(self) -> str:
        return self.request.raw


def calls(frames: Iterable[Frame]) -> tuple[ReceivedCall, ...]:
    """Collect the requests of a session, in the order in which they came."""
    conversation = ConversationState()
    found: dict[int, ReceivedCall] = {}
    by_request: dict[int, int] = {}
    for frame in seen_by_client(frames):
        requests, items = 0, jsonrpc.items_in(frame.raw)
        for message in items:
            if not isinstance(message, Message):
                continue
            observed = conversation.observe(frame.direction, message)
            if (
                frame.direction is Direction.IN
                and message.kind is Kind.REQUEST
                and observed.request
            ):
                # An array is recorded under the number of its first request.
                key = frame.number + requests if frame.number else -observed.request.number
                requests += 1
                by_request[observed.request.number] = key
                member = methods.of(message.method).arguments
                new = ReceivedCall(
                    number=max(key, 0),
                    request=message,
                    name=name_of(message),
                    arguments=object_at(message.params, *filter(None, [member])),
                    at=frame.at,
                )
                found.setdefault(key, new)
            elif frame.direction is Direction.OUT and message.kind.is_answer:
                request = observed.request
                key = by_request.pop(request.number, 0) if request else 0
                if len(items) == 1 and frame.number in found:  # of two open ones with the same id
                    key = 0 if found[frame.number].answer else frame.number
                if key and frame.note != _TO_GAIN_TIME:
                    found[key] = replace(
                        found[key],
                        answer=message.raw,
                        answered_at=frame.at,
                        by=frame.by,
                        result=message.body.get("result"),
                        error=message.body.get("error"),
                    )
    return tuple(found.values())


def answered_at_once(
    inbox: DeskInbox, facts: SessionFacts, waited: Collection[int]
) -> Iterator[Item]:
    """List the answered requests of a session whose numbers are not among those that waited.

    They are not in the inbox: the book or humanmcp answered them immediately.
    """
    for call in calls(inbox.frames(facts.name)) if facts.role.traits.serves else ():
        if not call.answer or call.number in {0, *waited}:
            continue
        yield Item(
            Key(facts.name, call.number),
            call.line,
            call.method,
            call.request.id.token if call.request.id else "",
            facts.protocol_version,
            call.at,
            ExchangeState.ANSWERED,
            answer=Answer(call.answer, call.by, call.answered_at),
        )
