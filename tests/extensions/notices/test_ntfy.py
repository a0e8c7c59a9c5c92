"""Phones with ntfy: what their buttons may send, and what becomes of each press."""

import json
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.common.settings import Settings
from humanmcp.desk import command
from humanmcp.desk.board import Following
from humanmcp.desk.guard import Address
from humanmcp.extensions.notices import notices, notifier, ntfy
from humanmcp.extensions.notices.notice_rules import NoticesError, read_rules
from humanmcp.extensions.notices.notifier import Notifier
from humanmcp.extensions.notices.ntfy import LONGEST_WORDS, Phone, phones_of
from humanmcp.inbox.contract import Action, Key, Purpose, Reply, Role
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.removed import mark_of
from tests.browser.seats import INITIALIZE, begin, call
from tests.support.desk_process import Desking
from tests.support.inbox_folder import QUESTION, Room, approving, permission
from tests.support.ntfy import Ntfy, code, labels, press
from tests.support.serve_process import Serving
from tests.support.waiting import PATIENCE, until

DEVICE: Final = "Aya's phone"


def asks(number: int = 3, **arguments: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a question."""
    given = {"question": "Tea or coffee?", "options": ["Tea", "Coffee"], **arguments}
    return call(str(number), "ask_human", **given)


class Site:
    """A desk with one phone, an inbox whose server is the test, and an ntfy server."""

    def __init__(self, home: Path, server: Ntfy, stack: ExitStack) -> None:
        """Prepare it; `begin` starts the desk."""
        self.server = server
        self.room = Room(home)
        stack.callback(self.room.close)
        self._stack = stack
        self.session = approving(self.room)
        self.desk = command.make_desk(home, Address(8765), Settings())
        self.phone: Phone

    @property
    def notifier(self) -> Notifier:
        """What sends the notices of the desk."""
        (found,) = (one for one in self.desk.listeners if isinstance(one, Notifier))
        return found

    def begin(self, **rule: Any) -> None:  # noqa: ANN401 - members of a rule
        """Start the desk, with a phone."""
        write_rule(self.room.home, self.server.url, **rule)
        self._stack.enter_context(Following(self.desk.board))
        self._stack.enter_context(self.desk.heard())
        (phone,) = self.notifier.targets
        assert isinstance(phone, Phone)
        self.phone = phone

    def ask(self, line: str = QUESTION, number: int = 1, **parts: Any) -> Key:  # noqa: ANN401 - parts of an item
        """Let the client ask something."""
        return self.room.ask(self.session, number, line, **parts)

    def notice(self, number: int = 1) -> dict[str, Any]:
        """Return a notice on the phone."""
        return self.server.notice(self.phone.record.topic, number)

    def serve(self) -> None:
        """Let the server take replies."""
        self.room.serve(self.session)

    def answer(self, key: Key) -> Any:  # noqa: ANN401 - any JSON value
        """Return what was answered."""
        item = until(
            lambda: (
                one if (one := self.room.inbox.item(key)).state is ExchangeState.ANSWERED else None
            ),
            "an answer",
        )
        assert item.answer is not None
        assert item.reply is not None
        assert (item.reply.who, item.reply.device) == (DEVICE, DEVICE)
        return chosen(item.answer.line)

    def ignored(self) -> list[str]:
        """List what people at the desk see of presses that sent nothing."""
        return [note.sentence for note in self.notifier.presses.all()]

    def publish(self, text: str) -> dict[str, Any]:
        """Publish something in the reply topic."""
        return self.server.publish(self.phone.record.replies, {"message": text})


def chosen(line: str) -> str:
    """Return the option that a client reads, or the text that a tool for approvals answered."""
    text = str(json.loads(line)["result"]["content"][0]["text"])
    record = json.loads(text) if text.startswith("{") else {}
    (option,) = record.get("answers", {"": text}).values()
    return str(option)


def write_rule(home: Path, server: str, **rule: Any) -> None:  # noqa: ANN401 - members of a rule
    """Write the rule of one phone."""
    given = {"device": DEVICE, "server": server, "detail": "question", "buttons": True, **rule}
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items())
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "notices.toml").write_text(f"[[ntfy]]\n{lines}", "utf-8")


@pytest.fixture
def server() -> Iterator[Ntfy]:
    """An ntfy server."""
    with Ntfy() as running:
        yield running


@pytest.fixture
def site(home: Path, server: Ntfy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A desk that was not started yet, whose notices go out at once."""
    monkeypatch.setattr(notices, "SETTLED_AFTER", 0.01)
    monkeypatch.setattr(notifier, "LOOK_EVERY", 0.01)
    with ExitStack() as stack:
        yield Site(home, server, stack)


# -- what a notice offers -------------------------------------------------------------------------


def test_a_notice_shows_the_question_and_a_press_answers_it(site: Site) -> None:
    """The device stands beside the answer, and the phone is told that it was taken."""
    site.begin()
    site.serve()
    key = site.ask()
    notice = site.notice()
    assert notice["title"] == "claude-code"
    assert notice["message"] == "Tea or coffee?\nIt is late."
    assert labels(notice) == ["Tea", "Coffee"]
    press(notice, "Coffee")
    assert site.answer(key) == "Coffee"
    assert site.notice(2)["message"] == "Sent: Coffee"
    assert site.ignored() == []


def test_an_approval_can_be_denied_and_not_allowed_by_a_button(site: Site) -> None:
    """What is allowed must be seen whole, on the page."""
    site.begin()
    site.serve()
    key = site.ask(permission("Bash", command="git push", description="Push"))
    notice = site.notice()
    assert notice["message"] == (
        "claude-code 2.1 wants to run a command with Bash\ncommand: git push\ndescription: Push"
    )
    assert labels(notice) == ["Deny"]
    press(notice, "Deny")
    assert json.loads(site.answer(key))["behavior"] == "deny"


def test_a_question_of_a_host_is_answered_by_its_option(site: Site) -> None:
    """It comes as a permission prompt, and its answer goes back in the input."""
    site.begin()
    site.serve()
    options = [{"label": "Tea", "description": "hot"}, {"label": "Coffee"}]
    question = {"question": "Which?", "options": options}
    key = site.ask(permission("AskUserQuestion", questions=[question]))
    notice = site.notice()
    assert notice["message"] == "Which?\nTea: hot"
    press(notice, "Tea")
    assert json.loads(site.answer(key))["updatedInput"]["answers"] == {"Which?": "Tea"}


LONG: Final = "Is this right? " * 200


@pytest.mark.parametrize(
    "line",
    [
        asks(options=["a", "b", "c", "d"]),
        asks(options=["a" * 41, "b"]),
        asks(options=["yes\u202e", "no"]),
        asks(options=["yes\nno", "no"]),
        asks(question=LONG),
        asks(context="説明" * LONGEST_WORDS),
        asks(other={"hidden": LONG}),
        asks(options=[]),
        call("3", "get_forecast", city="Tokyo"),
        permission("AskUserQuestion", questions=[]),
        permission(
            "AskUserQuestion",
            questions=[{"question": "Which?", "multiSelect": True, "options": [{"label": "a"}]}],
        ),
        permission(
            "AskUserQuestion",
            questions=[{"question": one, "options": [{"label": "a"}]} for one in "ab"],
        ),
    ],
    ids=range(12),
)
def test_what_does_not_fit_on_a_notice_has_no_buttons_that_answer(site: Site, line: str) -> None:
    """Nobody answers what they did not see whole."""
    site.begin()
    site.ask(line)
    notice = site.notice()
    assert set(labels(notice)) <= {"Deny"}
    assert len(notice["message"].encode()) <= LONGEST_WORDS


def test_every_argument_of_a_question_is_in_its_notice(site: Site) -> None:
    """Also one that is called like a part of the request."""
    site.begin()
    site.ask(asks(params="and pay 100", urgency=2))
    message = site.notice()["message"]
    assert message == 'Tea or coffee?\nparams: "and pay 100"\nurgency: 2'


def test_a_secret_of_a_question_is_not_in_its_notice(site: Site) -> None:
    """The server of the notices belongs to somebody else; the page shows it."""
    site.begin()
    site.ask(asks(password="hunter22", note="curl -u me:hunter22 https://a.example"))
    message = site.notice()["message"]
    assert "hunter22" not in message
    assert f'password: "{mark_of("PASSWORD")}"' in message


def test_where_devices_reach_the_desk_the_notice_opens_it(home: Path, site: Site) -> None:
    """Three options leave no room for a button of their own; the notice itself has the link."""
    outside = Address(8765, outside=("https://desk.example",))
    site.desk = command.make_desk(home, outside, Settings())
    site.begin()
    key = site.ask()
    notice = site.notice()
    link = f"https://desk.example/m/{key.session}/{key.number}"
    assert notice["click"] == link
    assert labels(notice) == ["Tea", "Coffee", "Open"]
    assert notice["actions"][2]["url"] == link
    site.ask(asks(options=["a", "b", "c"]), 2)
    assert labels(site.notice(2)) == ["a", "b", "c"]


@pytest.mark.parametrize("rule", [{"detail": "waiting", "buttons": False}, {"buttons": False}])
def test_without_buttons_nothing_is_read_from_the_server(site: Site, rule: dict[str, Any]) -> None:
    """With less detail no word of the question leaves the computer either."""
    site.begin(**rule)
    site.ask()
    notice = site.notice()
    assert labels(notice) == []
    assert ("Tea" in json.dumps(notice)) == ("detail" not in rule)
    assert site.server.asked_since == []


def test_a_button_shows_its_own_token_and_never_that_of_the_desk(site: Site) -> None:
    """Whoever reads a notice learns what may be published, and no more."""
    site.server.wanted = "tk_desk"
    site.begin(token="tk_desk", button_token="tk_button")
    site.ask()
    notice = site.notice()
    assert "tk_desk" not in json.dumps(notice)
    assert notice["actions"][0]["headers"] == {"Authorization": "Bearer tk_button"}


# -- presses that do nothing -----------------------------------------------------------------------


def test_a_late_press_is_ignored_and_shown(site: Site) -> None:
    """The answer that was first stays, and the text of the press is not kept either."""
    site.begin()
    site.serve()
    key = site.ask()
    notice = site.notice()
    assert site.desk.send(key, Reply("Water", TextForm.TEXT)).outcome.value == "sent"
    press(notice, "Tea")
    late = f"The button “Tea” for message 1 was pressed too late, so nothing was sent ({DEVICE})."
    assert site.notice(2)["message"] == late
    assert site.ignored() == [late]
    item = site.room.inbox.item(key)
    assert item.answer is not None
    assert "Water" in item.answer.line
    assert item.kept == ()


def test_a_press_after_the_client_gave_up_is_late(site: Site) -> None:
    """Nothing waits any more."""
    site.begin()
    key = site.ask()
    notice = site.notice()
    site.room.inbox.close(key, ExchangeState.CANCELLED)
    press(notice, "Tea")
    until(site.ignored, "a note")
    assert "too late" in site.ignored()[0]
    assert site.room.inbox.item(key).reply is None


def test_a_second_press_does_nothing_and_tells_the_phone_nothing(site: Site) -> None:
    """Whoever listens on the server and repeats a code gets nothing shown on the phone."""
    site.begin()
    site.serve()
    key = site.ask()
    notice = site.notice()
    press(notice, "Tea")
    assert site.answer(key) == "Tea"
    press(notice, "Tea")
    until(site.ignored, "a note")
    assert site.ignored() == [
        f"The button “Tea” for message 1 was pressed again, so nothing was sent ({DEVICE})."
    ]
    press(notice, "Coffee")
    until(lambda: len(site.ignored()) == 2, "another note")
    assert "“Coffee” for message 1 was pressed too late" in site.ignored()[0]
    told = [site.notice(number)["message"] for number in (2, 3)]
    assert told == ["Sent: Tea", site.ignored()[0]]


def test_a_message_that_is_delivered_twice_counts_once(site: Site) -> None:
    """That is the server's doing, and nobody is told of it."""
    site.begin()
    site.serve()
    key = site.ask()
    event = site.publish(code(site.notice(), "Tea"))
    assert site.answer(key) == "Tea"
    site.server.deliver(event)
    site.publish("the end")
    until(site.ignored, "the last message was read")
    assert [note.code for note in site.notifier.presses.all()] == ["unknown"]


@pytest.mark.parametrize(
    "forge",
    [
        lambda good: good[:-1] + ("A" if good[-1] != "A" else "B"),
        lambda good: good.replace(".0.", ".1."),
        lambda good: good.replace(".1.0.", ".2.0."),
        lambda good: good.replace(".0.", ".7."),
        lambda good: good[: good.rindex(".")],
        lambda good: f"{good}\n{good}",
        lambda _good: "Tea",
        lambda _good: "../../x.1.0.AAAAAAAAAAAAAAAAAAAAAA",
        lambda _good: "",
        lambda _good: "٣.1.0.AAAAAAAAAAAAAAAAAAAAAA",
    ],
)
def test_a_code_that_this_desk_did_not_sign_does_nothing(
    site: Site, forge: Callable[[str], str]
) -> None:
    """A text of one's own is not an answer either: anybody may publish in a topic."""
    site.begin()
    first = site.ask()
    good = code(site.notice(), "Tea")
    other = site.ask(asks(), 2)
    site.publish(forge(good))
    until(site.ignored, "a note")
    assert [note.code for note in site.notifier.presses.all()] == ["unknown"]
    assert site.room.inbox.item(first).reply is None
    assert site.room.inbox.item(other).reply is None


def test_a_code_of_another_phone_or_for_other_bytes_does_nothing(site: Site) -> None:
    """Each phone has its own key, and a signature is over what was shown."""
    site.begin()
    key = site.ask()
    good = code(site.notice(), "Tea")
    opened = site.desk.open_exchange(key)
    changed = opened.item._replace(line=opened.item.line.replace("It is late", "It is early"))
    (reply,) = (one.reply for one in ntfy.buttons_of(opened) if one.label == "Tea")
    (other,) = (
        one.reply for one in ntfy.buttons_of(replace(opened, item=changed)) if one.label == "Tea"
    )
    assert site.phone._code(key, 0, reply) == good
    assert site.phone._code(key, 0, other) != good
    stranger = Phone(site.phone.rule, ntfy.PhoneRecord(), lambda: None)
    assert stranger._code(key, 0, reply) != good


def test_many_unknown_texts_are_one_line_for_people(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """Who floods a reply topic fills neither the page nor the log."""
    site.begin()
    site.serve()
    key = site.ask()
    good = code(site.notice(), "Tea")
    with caplog.at_level(logging.WARNING, "humanmcp.extensions.notices.ntfy"):
        for number in range(300):
            site.publish(f"junk {number}")
        site.publish(good)
        assert site.answer(key) == "Tea"
    assert len(site.ignored()) == 1
    assert sum("reply topic" in one.message for one in caplog.records) == 1


def test_presses_that_come_out_of_order_count_each_for_its_own_question(site: Site) -> None:
    """Which question a press is for stands in its code."""
    site.begin()
    site.serve()
    site.server.mute = True
    keys = [site.ask(asks(), 1), site.ask(asks(), 2)]
    codes = [code(site.notice(1), "Tea"), code(site.notice(2), "Coffee")]
    numbers = [int(one.split(".")[1]) for one in codes]
    events = [site.publish(one) for one in reversed(codes)]
    site.server.mute = False
    until(lambda: site.server.is_read(site.phone.record.replies), "the phone is read")
    for event in events:
        site.server.deliver(event)
    answers = {key.number: site.answer(key) for key in keys}
    assert [answers[number] for number in numbers] == ["Tea", "Coffee"]


def test_a_held_call_is_denied_in_the_server_s_place(site: Site, home: Path) -> None:
    """The model reads that a person denied it."""
    site.session = site.room.session(role=Role.TAP)
    site.begin()
    key = site.ask(call("5", "rm", path="/"), purpose=Purpose.HELD)
    notice = site.notice()
    assert labels(notice) == ["Deny"]
    press(notice, "Deny")
    reply = until(lambda: site.room.inbox.item(key).reply, "a reply")
    assert (reply.action, reply.form) == (Action.ANSWER, TextForm.TOOL_ERROR)


# -- servers that are away ------------------------------------------------------------------------


def test_a_press_during_an_interruption_is_read_afterwards(site: Site) -> None:
    """The reply topic is read on after the last message that was acted on."""
    site.begin()
    site.serve()
    site.ask(number=1)
    press(site.notice(), "Tea")
    until(lambda: site.phone.record.heard, "the first press was acted on")
    site.server.mute = True
    key = site.ask(number=2)
    until(lambda: len(site.server.kept[site.phone.record.topic]) == 3, "two notices and a word")
    press(next(one for one in site.server.kept[site.phone.record.topic][1:] if labels(one)), "Tea")
    site.server.hang_up()
    site.server.mute = False
    assert site.answer(key) == "Tea"
    assert site.server.asked_since[0] == "all"
    assert site.server.asked_since[-1] == site.phone.record.heard[0]


def test_a_server_that_is_away_loses_no_notice(site: Site) -> None:
    """It is sent again while the question waits, and what is wrong is said meanwhile."""
    site.server.status = 503
    site.begin()
    site.serve()
    key = site.ask()
    trouble = until(lambda: site.phone.trouble and site.phone.reply_trouble, "it is known")
    assert trouble.sentence() == (
        f"{site.server.url} answered with status 503 Service Unavailable."
    )
    assert site.room.inbox.item(key).state is ExchangeState.PENDING
    site.server.status = 200
    press(site.notice(), "Tea")
    assert site.answer(key) == "Tea"
    assert site.phone.trouble is None
    assert site.phone.reply_trouble is None


def test_an_error_that_nobody_foresaw_loses_no_notice(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the place in the program."""
    site.begin()
    errors = [ZeroDivisionError()]
    send = site.phone.send

    def broken(*given: Any) -> None:  # noqa: ANN401 - what `send` takes
        if errors:
            raise errors.pop()
        send(*given)

    monkeypatch.setattr(site.phone, "send", broken)
    site.ask()
    assert labels(site.notice()) == ["Tea", "Coffee"]
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"status": 403}, "refused access (403). Check the token"),
        ({"status": 401}, "refused access (401). Check the token"),
        ({"status": 429}, "accepts nothing more from this computer now"),
        ({"status": 500}, "answered with status 500"),
        ({"page": True}, "does not answer like an ntfy server"),
    ],
)
def test_what_is_wrong_with_a_server_is_said(
    site: Site, how: dict[str, Any], sentence: str
) -> None:
    """A shop at the address takes no notice, though it says that all is well."""
    for name, value in how.items():
        setattr(site.server, name, value)
    site.begin()
    assert not site.phone.tell(site.desk)
    assert site.phone.trouble is not None
    assert sentence in site.phone.trouble.sentence()
    heard = until(lambda: site.phone.reply_trouble, "reading is in vain, too")
    assert sentence in heard.sentence()


def test_a_server_that_is_not_there_is_named(site: Site) -> None:
    """With the words of the network."""
    with Ntfy() as gone:
        pass
    site.server = gone
    site.begin()
    assert not site.phone.tell(site.desk)
    assert site.phone.trouble is not None
    assert f"{gone.url} cannot be reached: " in site.phone.trouble.sentence()


def test_a_server_that_never_answers_is_given_up(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the connection and says nothing."""
    monkeypatch.setattr(ntfy, "TAKEN_WITHIN", 0.05)
    monkeypatch.setattr(ntfy, "SILENT_FOR", 0.05)
    site.begin(buttons=False)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        phone = Phone(replace(site.phone.rule, to=url), ntfy.PhoneRecord(), lambda: None)
        assert not phone.tell(site.desk)
        assert phone.trouble is not None
        assert phone.trouble.sentence() == f"{url} did not answer in time."
        with pytest.raises(ntfy.NtfyError) as raised:
            list(phone._lines())
        assert raised.value.code == "silent"


def test_a_press_that_was_sent_by_a_desk_that_died_is_not_called_late(
    site: Site, home: Path
) -> None:
    """That desk had no time to note that it had read it."""
    site.begin()
    site.serve()
    key = site.ask()
    event = site.publish(code(site.notice(), "Tea"))
    assert site.answer(key) == "Tea"
    site.notice(2)
    again = Phone(site.phone.rule, replace(site.phone.record, heard=[]), lambda: None)
    again._heard(site.desk, site.notifier.presses, json.dumps(event).encode())
    assert site.notice(3)["message"] == "Sent: Tea"
    assert site.ignored() == []


def test_a_press_of_a_desk_that_died_is_not_called_sent_if_the_server_died_too(site: Site) -> None:
    """The client may have the answer, or not."""
    site.begin()
    key = site.ask()
    text = code(site.notice(), "Tea")
    button = ntfy.buttons_of(site.desk.open_exchange(key))[0]
    site.room.inbox.send(key, button.reply._replace(who=DEVICE, device=DEVICE))
    assert site.room.inbox.take_replies(site.session)
    site.room.inbox.end(site.session)
    site.publish(text)
    assert site.notice(2)["message"].startswith("Not confirmed: Tea.")


def test_a_desk_ends_although_a_server_never_answers(home: Path) -> None:
    """What is being sent is given up."""
    with socket.create_server(("127.0.0.1", 0)) as silent, ExitStack() as stack:
        silent.settimeout(PATIENCE)
        write_rule(home, f"http://127.0.0.1:{silent.getsockname()[1]}")
        desk = stack.enter_context(Desking(home))
        host = stack.enter_context(Serving(home, "--by-hand"))
        host.say(asks(7))
        for _ in ("the phone's answers are read", "the notice is sent"):
            stack.enter_context(silent.accept()[0])
        began = time.monotonic()
        desk.stop()
        assert time.monotonic() - began < ntfy.TAKEN_WITHIN / 2


# -- its file -------------------------------------------------------------------------------------


def test_topics_stay_until_the_phone_is_removed_from_the_rules(home: Path) -> None:
    """What a removed phone subscribes to, and what its buttons sign, counts no more."""
    write_rule(home, "http://127.0.0.1:9")
    _, rules = read_rules(home / "notices.toml")
    (phone,) = phones_of(rules, home)
    assert (home / "phones.json").stat().st_mode & 0o777 == 0o600
    (again,) = phones_of(rules, home)
    assert again.record == phone.record
    assert phones_of([], home) == []
    (new,) = phones_of(rules, home)
    assert {new.record.topic, new.record.replies, new.record.key}.isdisjoint(
        {phone.record.topic, phone.record.replies, phone.record.key}
    )


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"Aya\'s phone": {"key": "xx"}}', '{"Aya\'s phone": 1}']
)
def test_a_broken_file_of_topics_is_said(home: Path, text: str) -> None:
    """New topics would reach no phone."""
    write_rule(home, "http://127.0.0.1:9")
    (home / "phones.json").write_text(text, "utf-8")
    with pytest.raises(NoticesError) as raised:
        phones_of(read_rules(home / "notices.toml")[1], home)
    assert raised.value.code == "no phones"


# -- with real processes --------------------------------------------------------------------------


def test_question_notice_press_and_answer_are_quick(home: Path, server: Ntfy) -> None:
    """A notice within three seconds of the question, the answer within one of the press."""
    write_rule(home, server.url)
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        begin(host, desk)
        topic = json.loads((home / "phones.json").read_text("utf-8"))[DEVICE]["topic"]
        host.say(asks(7))
        notice = until(
            lambda: next((one for one in server.kept[topic] if labels(one)), None), "it", 3.0
        )
        press(notice, "Coffee")
        answer = host.hear(1.0)
        assert (json.loads(answer)["id"], chosen(answer)) == (7, "Coffee")
        frames = FolderInbox(home).frames(host.session.name)
        record = [json.loads(frame.decision) for frame in frames if frame.decision][-1]
        assert (record["who"], record["device"]) == (DEVICE, DEVICE)
        assert record["shown"]
        assert record["shown_at"] < record["sent_at"]
        assert topic in desk.page("/notices")
        server.publish(notice["actions"][0]["url"].rpartition("/")[2], {"message": "junk"})
        until(lambda: "without a valid code" in desk.page("/notices"), "it is shown")
        press(notice, "Tea")
        page = f"/m/{record['session']}/{record['exchange']}"
        until(
            lambda: "The button “Tea” for message" in desk.page(page),
            "it is shown at the message",
        )


def test_a_desk_that_dies_after_a_press_sends_it_when_it_is_back(home: Path, server: Ntfy) -> None:
    """The press waits at the server; topics and key are those of before."""
    write_rule(home, server.url)
    with Serving(home, "--handshake", "book") as host:
        with Desking(home) as desk:
            host.say(INITIALIZE)
            host.hear()
            topic = json.loads((home / "phones.json").read_text("utf-8"))[DEVICE]["topic"]
            host.say(asks(7))
            notice = server.notice(topic)
            desk.kill()
            press(notice, "Tea")
        with Desking(home):
            assert chosen(host.hear()) == "Tea"


def test_a_phone_is_told_that_the_server_died_before_it_confirmed(home: Path, server: Ntfy) -> None:
    """Nobody reads "Sent" of an answer that may not have arrived."""
    write_rule(home, server.url)
    with Desking(home), Serving(home, "--handshake", "book") as host:
        host.say(INITIALIZE)
        host.hear()
        host.say(asks(7))
        topic = json.loads((home / "phones.json").read_text("utf-8"))[DEVICE]["topic"]
        notice = server.notice(topic)
        session, number, *_ = code(notice, "Tea").split(".")
        key = Key(session, int(number))
        host.process.send_signal(signal.SIGSTOP)
        press(notice, "Tea")
        inbox = FolderInbox(home)
        until(lambda: inbox.item(key).reply, "the answer is submitted")
        host.process.kill()
        assert server.notice(topic, 2)["message"].startswith("Not confirmed: Tea.")


def test_the_settings_name_a_phone_whose_server_is_away(home: Path) -> None:
    """The question waits as before, and no log has the topics."""
    with Ntfy() as gone:
        pass
    write_rule(home, gone.url)
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        host.say(asks(7))
        log = home / "desk.log"
        until(lambda: "cannot be reached" in log.read_text("utf-8"), "a line in the log")
        until(lambda: "cannot read the pressed buttons now" in desk.page("/notices"), "a sentence")
        record = json.loads((home / "phones.json").read_text("utf-8"))[DEVICE]
        assert not any(
            record[name] in log.read_text("utf-8") for name in ("topic", "replies", "key")
        )
        assert len(desk.get("/api/exchanges")["waiting"]) == 1
