"""Phones with ntfy: notices with buttons, and answers by these buttons.

Theory of operation. Each phone has two random topics on an ntfy server: its app shows the messages
of one, its buttons publish to the other, which this desk reads. All connections are outgoing. A
button publishes a code: the request, the option, and a signature over both, the shown bytes, the
text to send, and the phone. Anybody who knows the reply topic can publish to it, so unsigned texts
are ignored. A code is valid once, while its request waits; the inbox decides this, not a clock. The
position in the reply topic is stored after a press was processed, so after a crash the desk reads
the press again.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import logging
import re
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering import approvals, service
from humanmcp.answering.approvals import card_of, headline
from humanmcp.answering.service import Outcome
from humanmcp.answering.summary import row_title
from humanmcp.extensions.notices.notice_rules import Detail, NoticesError
from humanmcp.extensions.notices.notices import NoticeTarget, PressNote, link_to
from humanmcp.http.server_address import CallError, HttpCall, ServerAddress
from humanmcp.inbox.atomic import write_private
from humanmcp.inbox.contract import InboxError, Key, Reply, UnknownItemError
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.protocol.conversation.exchange import QUESTION
from humanmcp.protocol.conversation.questions import shown_with
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.http.client import OutgoingRequest
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.json.visible import left_to_right, one_line, visible
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.answering.summary import Row
    from humanmcp.desk.desk import Desk
    from humanmcp.extensions.notices.notice_rules import PhoneRule
    from humanmcp.extensions.notices.notices import PressNotes

_log = logging.getLogger(__name__)

FILE: Final = "phones.json"
SECTION: Final = "ntfy"
MOST_BUTTONS: Final = 3
"""The maximum number of buttons that the ntfy apps show."""
LONGEST_LABEL: Final = 40
LONGEST_WORDS: Final = 2000
"""The maximum size of a question in bytes: a push service allows 4 KB, including the buttons."""
TAKEN_WITHIN: Final = 10.0
"""The seconds for a server to accept a notice."""
SILENT_FOR: Final = 150.0
"""The seconds without a line before the desk reconnects: ntfy writes one every 45 s."""
FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 60.0
"""The seconds before a server that did not answer is tried again: first, and at most."""
REMEMBERED: Final = 200
"""The number of kept presses, to recognise repeated deliveries."""
LONGEST_LINE: Final = 1 << 20
_CODE: Final = re.compile(r"([0-9A-Za-z-]{1,64})\.(\d{1,9})\.(\d)\.[\w-]{22}", re.ASCII)
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class NtfyError(StopError):
    """An ntfy server cannot be used now."""

    section = SECTION


# -- what a phone can answer ----------------------------------------------------------------------


class Button(NamedTuple):
    """A button of a notice: its label, and the answer that it sends."""

    label: str
    reply: Reply


def buttons_of(opened: OpenExchange) -> tuple[Button, ...]:
    """Return the answers that one press may send; () if a person must see more, or type.

    No button allows a call, because a person must see a call completely first. A question only has
    buttons if the notice shows it completely, with each option.
    """
    shown, approval, inquiry = digest_of(opened.item.line), opened.approval, opened.inquiry
    if opened.is_large and approval is None:
        return ()
    if approval is not None and approval.kind == QUESTION and approval.problem:
        return ()
    if approval is not None and not approval.questions:
        return (Button(say(SECTION, "deny"), approvals.deny(opened, "", shown=shown)),)
    found: list[Button] = []
    if approval is not None and len(approval.questions) == 1:
        (question,) = approval.questions
        found = [
            Button(label, approvals.answer(opened, {question.text: (label,)}, shown=shown))
            for label in question.labels
            if not question.multiple
        ]
    elif inquiry is not None:
        found = [
            Button(label, Reply(label, TextForm.TEXT, shown=shown)) for label in inquiry.labels
        ]
    fits = all(one.label == one_line(one.label, LONGEST_LABEL) for one in found)
    seen = len(words_of(opened).encode("utf-8", "replace")) <= LONGEST_WORDS
    return tuple(found) if fits and seen and len(found) <= MOST_BUTTONS else ()


def words_of(opened: OpenExchange) -> str:
    """Return the complete question of a request; "" if it asks a person nothing."""
    approval, inquiry = opened.approval, opened.inquiry
    if approval is not None and approval.questions:
        lines = [
            line
            for one in approval.questions
            for line in (*_lines(one.text, "", one.options), *approvals.told_beside(one))
        ]
    elif approval is not None:
        card = card_of(approval)
        parts = (
            f"{part.name}: {line.sign}{line.text}" for part in card.parts for line in part.lines
        )
        problem = [say(approvals.SECTION, approval.problem)] if approval.problem else []
        lines = [headline(opened, approval, card), *problem, *map(left_to_right, parts)]
        return "\n".join(lines)
    elif inquiry is not None:
        arguments = object_at(opened.params, "arguments")
        shown = shown_with(inquiry, arguments)
        rest = [
            f"{name}: {json.dumps(value, ensure_ascii=False)}"
            for name, value in arguments.items()
            if name not in shown
        ]
        told = approvals.told_of(opened.asked)
        lines = [*_lines(inquiry.text, inquiry.context, inquiry.options), *told, *rest]
    else:
        return ""
    return "\n".join(map(visible, lines))


def _lines(question: str, context: str, options: Sequence[tuple[str, str]]) -> list[str]:
    notes = [f"{label}: {note}" for label, note in options if note]
    return [question, *([context] if context else ()), *notes]


# -- phones ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class PhoneRecord:
    """The secrets of a phone: its key and topics. `heard` are the last received messages."""

    key: str = field(default_factory=lambda: secrets.token_hex(32))
    topic: str = field(default_factory=lambda: f"humanmcp-{secrets.token_urlsafe(18)}")
    replies: str = field(default_factory=lambda: f"humanmcp-{secrets.token_urlsafe(18)}")
    heard: list[str] = field(default_factory=list)


def phones_of(rules: Sequence[PhoneRule], home: Path) -> list[Phone]:
    """Return the phones of the rules. Phones without a rule lose their topics.

    Raises:
        NoticesError: the file with their topics cannot be read or written.
    """
    names = [rule.device for rule in rules]
    file, lock = home / FILE, threading.Lock()
    try:
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        records = {name: PhoneRecord(**kept.get(name, {})) for name in names}
        for one in records.values():
            bytes.fromhex(one.key)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise NoticesError("no phones", file=file, why=error) from error

    def save() -> None:
        with lock:
            write_private(file, json.dumps({name: asdict(one) for name, one in records.items()}))

    try:
        if names or kept:
            save()
    except OSError as error:
        raise NoticesError("no phones", file=file, why=error) from error
    return [Phone(rule, records[rule.device], save) for rule in rules]


class Phone(NoticeTarget):
    """A phone with ntfy."""

    rule: PhoneRule

    def __init__(self, rule: PhoneRule, record: PhoneRecord, save: Callable[[], None]) -> None:
        """Use its topics; `save` stores the record."""
        super().__init__(rule, rule.device)
        self.record = record
        self._save = save
        self._used: set[str] = set()
        self._ended = threading.Event()
        self._calls: set[HttpCall] = set()

    @property
    def link(self) -> str:
        """The address by which the Android app subscribes to the topic."""
        scheme, _, host = self.rule.to.partition("://")
        return f"ntfy://{host}/{self.record.topic}{'' if scheme == 'https' else '?secure=false'}"

    # -- notices ----------------------------------------------------------------------------------

    def send(self, desk: Desk, row: Row | None, sender: str) -> None:
        """Publish a notice, with buttons if a press may answer.

        Raises:
            NtfyError: the server did not accept it.
            UnknownItemError: the request has ended.
        """
        record: dict[str, Any] = {"message": say("notices", "waits" if row else "try")}
        link = link_to(desk, row)
        if link:
            record["click"] = link
        if row is not None and self.rule.detail is Detail.QUESTION:
            opened = desk.open_exchange(row.key)
            words = words_of(opened) or f"{row_title(row.summary) or row.method} {row.summary.gist}"
            record |= {
                "title": one_line(sender, 160),
                "message": _cut(without_secrets(words)),
                "actions": self._actions(opened, link),
            }
        self.publish(record)
        if row is not None and "title" in record:
            desk.board.show(row.key)

    def _actions(self, opened: OpenExchange, link: str) -> list[dict[str, Any]]:
        buttons = buttons_of(opened) if self.rule.buttons else ()
        token = self.rule.button_token
        headers = {"headers": {"Authorization": f"Bearer {token}"}} if token else {}
        actions: list[dict[str, Any]] = [
            {
                "action": "http",
                "label": one.label,
                "url": f"{self.rule.to}/{self.record.replies}",
                "body": self._code(opened.key, number, one.reply),
                "clear": True,
                **headers,
            }
            for number, one in enumerate(buttons)
            if _is_sendable(opened, one)
        ]
        if link and len(actions) < MOST_BUTTONS:
            actions.append({"action": "view", "label": say(SECTION, "open"), "url": link})
        return actions

    def _code(self, key: Key, number: int, reply: Reply) -> str:
        name = f"{key.session}.{key.number}.{number}"
        signed = f"{self.rule.device}\0{name}\0{reply.shown}\0{reply.text}"
        made = hmac.digest(
            bytes.fromhex(self.record.key), signed.encode("utf-8", "surrogatepass"), "sha256"
        )
        return f"{name}.{urlsafe_b64encode(made[:16]).decode().rstrip('=')}"

    def publish(self, record: Mapping[str, Any]) -> None:
        """Publish a message for the phone.

        Raises:
            NtfyError: the server did not accept it.
        """
        text = json.dumps({"topic": self.record.topic, **record}, ensure_ascii=False)
        body = text.encode("utf-8", "replace")
        with self._called("POST", "", TAKEN_WITHIN, body) as (call, _wait):
            taken = _object_in(call.body(LONGEST_LINE))
        if "id" not in taken:
            raise self._error("no ntfy")

    # -- presses ----------------------------------------------------------------------------------

    def begin(self, desk: Desk, presses: PressNotes) -> None:
        """Start to read the reply topic."""
        if self.rule.buttons:
            reading = threading.Thread(target=self._read, args=(desk, presses), daemon=True)
            reading.start()

    def end(self) -> None:
        """Disconnect from the server."""
        self._ended.set()
        for call in tuple(self._calls):
            call.close()

    def _read(self, desk: Desk, presses: PressNotes) -> None:
        wait = FIRST_WAIT
        while not self._ended.is_set():
            try:
                for line in self._lines():
                    if self._heard(desk, presses, line):
                        wait = FIRST_WAIT
                raise self._error("ended")  # noqa: TRY301 - as if it had broken off
            except (NtfyError, InboxError, OSError) as error:
                self._cannot_read(error)
            except Exception:  # noqa: BLE001 - a phone that is heard no more would be worse
                _log.exception("a press by %s could not be read", self.rule.device)
            if self._ended.wait(wait):
                return
            wait = min(wait * 2, LONGEST_WAIT)

    def _cannot_read(self, error: Exception) -> None:
        if self._ended.is_set():
            return
        trouble = error if isinstance(error, StopError) else self._error("away", why=error)
        before = "" if self.reply_trouble is None else self.reply_trouble.code
        if trouble.code not in ("ended", before):
            _log.warning("ntfy %s: %s", self.rule.device, sentence_of(trouble))
        self.reply_trouble = trouble

    def _lines(self) -> Iterator[bytes]:
        since, rest, speaks = (self.record.heard or ["all"])[-1], b"", False
        target = f"{self.record.replies}/json?since={since}"
        with self._called("GET", target, SILENT_FOR) as (call, wait):
            for piece in call.pieces():
                wait()
                *lines, rest = (rest + piece).split(b"\n")
                if len(rest) > LONGEST_LINE:
                    raise self._error("no ntfy")
                speaks = speaks or bool(lines)
                yield from filter(None, lines)
        if not speaks:
            raise self._error("no ntfy")

    def _heard(self, desk: Desk, presses: PressNotes, line: bytes) -> bool:
        """Process a line of the reply topic. Return True if it shows that the server is alive."""
        event = _object_in(line)
        kind, name = event.get("event"), str(event.get("id", ""))
        if not isinstance(kind, str):
            raise self._error("no ntfy")
        self.reply_trouble = None
        if kind != "message":
            return kind == "keepalive"
        if _ID.fullmatch(name) and name not in self.record.heard:
            self._pressed(desk, presses, str(event.get("message", "")))
            self.record.heard = [*self.record.heard, name][-REMEMBERED:]
            self._save()
        return True

    def _pressed(self, desk: Desk, presses: PressNotes, code: str) -> None:
        found = self._button(desk, code)
        if found is None:
            presses.add(PressNote(time.time(), "unknown", self.rule.device))
            return
        opened, button = found
        outcome = self._act_on(desk, opened, button, code)
        note = PressNote(time.time(), outcome, self.rule.device, opened.key, button.label)
        if outcome not in _SENT:
            presses.add(note)
            desk.board.poke(opened.key)
        if outcome != "repeated":  # a repeated code may come from an eavesdropper
            with contextlib.suppress(NtfyError):
                self.publish({"message": note.sentence, "priority": 2})

    def _button(self, desk: Desk, code: str) -> tuple[OpenExchange, Button] | None:
        """Return the exchange and the button of a code; None if this desk did not sign it."""
        parts = _CODE.fullmatch(code.strip())
        if parts is None:
            return None
        number = int(parts[3])
        try:
            opened = desk.open_exchange(Key(parts[1], int(parts[2])))
        except UnknownItemError:
            return None
        buttons = buttons_of(opened)
        if number >= len(buttons):
            return None
        signed = self._code(opened.key, number, buttons[number].reply)
        return (opened, buttons[number]) if hmac.compare_digest(signed, code.strip()) else None

    def _act_on(self, desk: Desk, opened: OpenExchange, button: Button, code: str) -> str:
        """Send the answer of a button, if it is still valid; return the code of the sentence."""
        if code in self._used:
            return "repeated"
        before = opened.item.reply
        ours = (self.rule.device, button.reply.text)
        if before is not None and (before.who, before.text) == ours:
            # A desk sent it that crashed before it stored the press.
            result = service.result_of(opened, before)
            outcome = "on its way" if result is None else _OUTCOMES[result.outcome]
        elif opened.standing.is_over:
            outcome = "late"
        elif not _is_sendable(opened, button):
            outcome = "unfit"
        else:
            name, shown_at = self.rule.device, desk.board.shown_at(opened.key)
            reply = button.reply._replace(who=name, device=name, shown_at=shown_at)
            outcome = _OUTCOMES[desk.send(opened.key, reply).outcome]
        self._used.add(code)
        return outcome

    # -- HTTP -------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _called(
        self, method: str, target: str, seconds: float, body: bytes = b""
    ) -> Iterator[tuple[HttpCall, Callable[[], None]]]:
        """Call the server, and expect success. It has `seconds`, again from each call of `wait`."""
        headers = [("Accept", "application/json"), ("User-Agent", "humanmcp")]
        if body:
            headers.append(("Content-Length", str(len(body))))
        if self.rule.token:
            headers.append(("Authorization", f"Bearer {self.rule.token}"))
        address = ServerAddress(f"{self.rule.to}/{target}")
        call = HttpCall(address, OutgoingRequest(method, tuple(headers), body))
        self._calls.add(call)
        timer = threading.Timer(seconds, call.close)

        def wait() -> None:
            nonlocal timer
            timer.cancel()
            timer = threading.Timer(seconds, call.close)
            timer.start()

        wait()
        try:
            response = call.response()
            if response.status != 200:
                code = _REFUSED.get(response.status, "status")
                raise self._error(code, status=response.status, reason=response.reason)
            yield call, wait
        except CallError as error:
            if call.is_closed:
                raise self._error("silent") from error
            if error.code in ("no http", "too long"):
                raise self._error("no ntfy") from error
            raise self._error("away", why=error.fillings.get("why", error.code)) from error
        finally:
            timer.cancel()
            self._calls.discard(call)
            call.end()

    def _error(self, code: str, **fillings: object) -> NtfyError:
        return NtfyError(code, server=self.rule.to, device=self.rule.device, **fillings)


_REFUSED: Final = {401: "refused", 403: "refused", 429: "busy"}
_SENT: Final = ("sent", "on its way", "stored")
_OUTCOMES: Final = {
    Outcome.SENT: "sent",
    Outcome.QUEUED: "on its way",
    Outcome.STORED: "stored",
    Outcome.TAKEN: "late",
    Outcome.OVER: "late",
    Outcome.UNCONFIRMED: "unconfirmed",
    Outcome.BLOCKED: "unfit",
    Outcome.REFUSED: "unfit",
}


def _is_sendable(opened: OpenExchange, button: Button) -> bool:
    reply = button.reply
    return service.judge(opened, reply.text, reply.form, reply.action).sendable


def _cut(words: str) -> str:
    raw = words.encode("utf-8", "replace")
    if len(raw) <= LONGEST_WORDS:
        return words
    rest = f"…\n{say(SECTION, 'cut')}"
    return raw[: LONGEST_WORDS - len(rest.encode())].decode("utf-8", "ignore") + rest


def _object_in(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line; {} for other lines."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
