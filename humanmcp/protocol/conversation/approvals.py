"""What a call asks a person to allow or to answer, and the response that each choice makes.

The answer book says what a tool is for: `kind = "approval"` or `kind = "question"`. It travels in
the `_meta` of the tool, so every desk reads it from the list that the client was given.

A host sends each permission prompt to a tool for approvals: `{"tool_name": "Bash", "input": {…}}`.
It runs what comes back: `{"behavior": "allow", "updatedInput": {…}}`, or nothing after
`{"behavior": "deny", "message": "…"}`. What is allowed is the text that was shown, never written
anew. Questions of the host's own question tool come the same way; the answers are a member of
`updatedInput`.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.transcript import sha256
from humanmcp.protocol.json.jsonrpc import Kind, is_large, member, members
from humanmcp.protocol.json.tree import follow, text_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.json.jsonrpc import Message

KIND: Final = "humanmcp/kind"
"""The member of a tool's `_meta` that says what it is for."""
APPROVAL: Final = "approval"
QUESTION: Final = "question"
KINDS: Final = (APPROVAL, QUESTION)

QUESTION_TOOLS: Final = frozenset({"AskUserQuestion"})
"""Tools of hosts whose permission prompt is a question. To answer any other would also run it."""
DENIED: Final = "A person denied this."


def kind_of(tool: object, tools: Mapping[str, Any] | None) -> str:
    """Return what the answer book says that a tool is for; "" for nothing special."""
    found = follow(tools, tool, "_meta", KIND) if isinstance(tool, str) else None
    return found if found in KINDS else ""


DIGEST: Final = 16
"""Characters of a digest that a person copies in a text file."""


def digest_of(line: str) -> str:
    """Return a digest of the tool and the arguments of a call, exactly as they were written."""
    params = member(line, "params") or "{}"
    parts = (member(params, "name") or "", member(params, "arguments") or "")
    return sha256("\0".join(parts))


def differs(shown: str, line: str) -> bool:
    """Return True if a person was shown another call. `shown` is its digest, "" for none."""
    return bool(shown) and shown != digest_of(line)


class AskedQuestion(NamedTuple):
    """One question with its options, each with its description."""

    text: str
    header: str = ""
    options: tuple[tuple[str, str], ...] = ()
    multiple: bool = False
    free_text: bool = True


class Approval(NamedTuple):
    """What a person is asked to allow: a tool and its input. `text` is the input as it came.

    `questions` are there where the prompt is one of the host's own questions. `problem` says why
    nothing can be allowed: the code of a sentence.
    """

    tool: str
    text: str
    input: Mapping[str, Any]
    digest: str
    questions: tuple[AskedQuestion, ...] = ()
    problem: str = ""


def approval_of(
    line: str, message: Message, tools: Mapping[str, Any] | None, *, held: bool = False
) -> Approval | None:
    """Read what a call asks a person to allow; None for a call that asks for nothing.

    Of a call that a tap holds (`held`), that is the call itself.
    """
    if message.kind is not Kind.REQUEST or message.method != "tools/call":
        return None
    if not held and kind_of(message.params.get("name"), tools) != APPROVAL:
        return None
    if is_large(line):
        return Approval("", "", {}, "", problem="large")
    digest = digest_of(line)
    try:
        body = json.loads(line, object_pairs_hook=_each_once)
    except _TwiceError:
        return Approval("", "", {}, digest, problem="twice")
    steps = ("params",) if held else ("params", "arguments")
    name, given = ("name", "arguments") if held else ("tool_name", "input")
    tool = text_at(body, *steps, name)
    value = follow(body, *steps, given, missing={} if held else None)
    if not tool.strip() or not isinstance(value, dict):
        return Approval("", "", {}, digest, problem="shape")
    questions = () if held or tool not in QUESTION_TOOLS else questions_in(value)
    return Approval(tool, member(line, *steps, given) or "{}", value, digest, questions)


class _TwiceError(Exception):
    """An object names a member twice: programs differ in which of them counts."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError
    return found


def questions_in(given: Mapping[str, Any]) -> tuple[AskedQuestion, ...]:
    """Read several questions; nothing where one of them cannot be shown whole."""
    listed = given.get("questions")
    if not isinstance(listed, list):
        return ()
    found = [_question(one) for one in listed[: MOST_QUESTIONS + 1]]
    texts = {one.text for one in found if one is not None}
    whole = 0 < len(texts) == len(listed) <= MOST_QUESTIONS
    return tuple(one for one in found if one is not None) if whole else ()


def _question(value: Any) -> AskedQuestion | None:  # noqa: ANN401 - any JSON value
    words = text_at(value, "question")
    if not words.strip():
        return None
    options = options_in(follow(value, "options"))
    many = any(follow(value, name) is True for name in ("multiSelect", "multiple"))
    free = follow(value, "allow_free_text") is not False or not options
    return AskedQuestion(words, text_at(value, "header"), options, many, free)


MOST_QUESTIONS: Final = 10
MOST_OPTIONS: Final = 50
"""Options that are offered; who brings more of them lets the person write instead."""
LABEL: Final = "label"
DESCRIPTION: Final = "description"


def options_in(value: Any) -> tuple[tuple[str, str], ...]:  # noqa: ANN401 - any JSON value
    """Return each option with its description; nothing where one of them cannot be chosen."""
    if not isinstance(value, list) or not 0 < len(value) <= MOST_OPTIONS:
        return ()
    objects = [one if isinstance(one, dict) else {LABEL: one} for one in value]
    found = tuple((text_at(one, LABEL), text_at(one, DESCRIPTION)) for one in objects)
    if not all(label.strip() for label, _ in found):
        return ()
    return tuple((label, note if note.strip() else "") for label, note in found)


# -- what a choice sends -------------------------------------------------------------------------


def allowed(approval: Approval, text: str = "") -> str:
    """Return the text that allows it, with another input if one is given."""
    return f'{{"behavior": "allow", "updatedInput": {text or approval.text}}}'


def denied(reason: str) -> str:
    """Return the text that denies it; the model reads the reason."""
    words = {"behavior": "deny", "message": reason.strip() or DENIED}
    return json.dumps(words, ensure_ascii=False)


def answered(approval: Approval, answers: Mapping[str, tuple[str, ...]]) -> str:
    """Return the text that answers the questions of a host: several choices stand in one text."""
    texts = {question: ", ".join(chosen) for question, chosen in answers.items()}
    return allowed(approval, with_members(approval.text, {"answers": as_json(texts)}))


def as_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a value that a person gave."""
    return json.dumps(value, ensure_ascii=False)


def with_members(text: str, changed: Mapping[str, str]) -> str:
    """Return a JSON object with some members replaced or added; the others stay as written."""
    kept = {name: text[start:end] for name, start, end in members(text)}
    pairs = (f"{as_json(name)}: {value}" for name, value in {**kept, **changed}.items())
    return f"{{{', '.join(pairs)}}}"


# -- allow like this -----------------------------------------------------------------------------

_PREFIX: Final = "allow:"
_PLAIN: Final = re.compile(r"[A-Za-z0-9 ./:@%+,_=-]+")
"""A command in which a shell sees nothing but words."""
_BEGINS: Final = re.compile(r"[A-Za-z0-9._-]+ [a-z][a-z0-9-]*(?= |$)")
"""A program and what it is to do: `git status`. A program alone may do anything."""


class AllowPattern(NamedTuple):
    """Which calls a person has allowed in one session. `way` is the code of its sentence.

    "same" is this very input, "begins" a plain command that begins with these words, "folder" a
    file below this folder, "tool" any call of the tool. `rest` is a digest of what else is in the
    input: a command in the background is another one.
    """

    tool: str
    way: str
    value: str = ""
    rest: str = ""

    def __str__(self) -> str:
        """Write it as it is kept."""
        return _PREFIX + as_json(list(self))

    def fits(self, approval: Approval) -> bool:
        """Return True if this call is allowed without asking."""
        if approval.problem or approval.questions or approval.tool != self.tool:
            return False
        command, path = text_at(approval.input, "command"), text_at(approval.input, "file_path")
        match self.way:
            case "same":
                return self.rest == _rest(approval, "description")
            case "begins":
                plain = _PLAIN.fullmatch(command) and self.rest == _rest(approval, *_OF_COMMAND)
                return bool(plain) and f"{command} ".startswith(f"{self.value} ")
            case "folder":
                return _folder(path).startswith(self.value) and self.value.endswith("/")
            case _:
                return self.way == "tool"


_OF_COMMAND: Final = ("command", "description")


def _rest(approval: Approval, *without: str) -> str:
    """Return a digest of the input without some members, if it is a command."""
    text = approval.text
    left_out = without if "command" in approval.input else ()  # elsewhere nothing is a comment
    kept = sorted((name, text[start:end]) for name, start, end in members(text))
    rest = repr([one for one in kept if one[0] not in left_out])
    return sha256(rest)


def _folder(path: str) -> str:
    """Return the folder of a file, with a slash at its end; "" for one that may be elsewhere."""
    plain = path.startswith("/") and posixpath.normpath(path) == path
    return posixpath.dirname(path).rstrip("/") + "/" if plain else ""


def patterns_for(approval: Approval) -> tuple[AllowPattern, ...]:
    """List what a person may allow for the session, the narrowest first."""
    if approval.problem or approval.questions:
        return ()
    tool, command = approval.tool, text_at(approval.input, "command")
    found = [AllowPattern(tool, "same", rest=_rest(approval, "description"))]
    folder = _folder(text_at(approval.input, "file_path"))
    if command:
        begins = _BEGINS.match(command)
        if begins and _PLAIN.fullmatch(command):
            found.append(AllowPattern(tool, "begins", begins[0], _rest(approval, *_OF_COMMAND)))
    elif folder not in ("", "/"):
        found.append(AllowPattern(tool, "folder", folder))
    elif "file_path" not in approval.input:
        found.append(AllowPattern(tool, "tool"))
    return tuple(found)


def pattern_of(text: str) -> AllowPattern | None:
    """Read a pattern as it is kept; None for any other text."""
    if not text.startswith(_PREFIX):
        return None
    try:
        parts = json.loads(text.removeprefix(_PREFIX))
    except ValueError:
        return None
    sound = isinstance(parts, list) and len(parts) == len(AllowPattern._fields)
    return AllowPattern(*parts) if sound and all(isinstance(one, str) for one in parts) else None
