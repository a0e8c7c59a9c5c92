"""`humanmcp hook` as an agent starts it, and a person who decides."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.answering import approvals, service
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.answering.standing import Standing, note_told, prospects
from humanmcp.extensions.agents.asking import PromptWaiting
from humanmcp.extensions.agents.printer import Printer
from humanmcp.inbox.contract import Item, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.protocol.conversation.prompts import read_prompt
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from tests.protocol.conversation.test_prompts import CLAUDE, COPILOT, GEMINI, QWEN, WORDS
from tests.support.inbox_folder import Shell
from tests.support.waiting import PATIENCE, until

COMMAND: Final = (sys.executable, "-m", "humanmcp", "hook")


class Agent:
    """An agent's inbox, and the hooks that it started."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(mode=0o700, exist_ok=True)
        self.inbox = FolderInbox(home)

    @contextmanager
    def asks(self, sent: object, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start a hook with what an agent sends."""
        process = subprocess.Popen(
            [*COMMAND, "--home", str(self.home), *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(sent).encode() if not isinstance(sent, bytes) else sent)
        process.stdin.close()
        process.stdin = None
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def waiting(self) -> Sequence[Item]:
        """List what waits for a person."""
        sessions = self.inbox.sessions()
        return [item for one in sessions for item in self.inbox.items(one.name) if item.waits]

    def card(self, count: int = 1) -> OpenExchange:
        """Wait for a card; the newest of so many."""
        until(lambda: len(self.waiting()) >= count, "a card is there")
        return open_exchange_of(self.inbox, self.waiting()[0].key)


def said(process: subprocess.Popen[bytes]) -> Any:  # noqa: ANN401 - any JSON value
    """Return what a hook printed, None for nothing; it must have ended well."""
    out, _err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return json.loads(out) if out else None


def send(opened: OpenExchange, reply: Reply) -> service.SendResult:
    """Send a decision as a desk does."""
    return service.send(opened, reply._replace(by="desk"), within=PATIENCE)


def allow(opened: OpenExchange, note: str = "") -> Reply:
    """Return the reply of the key A."""
    assert opened.asked is not None
    return approvals.allow(opened, opened.asked, seen=True, shown=opened.asked.digest, note=note)


def behavior(printed: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return what Claude Code is told."""
    return str(printed["hookSpecificOutput"]["decision"]["behavior"])


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Return an agent with an inbox of its own."""
    return Agent(tmp_path / "inbox")


def test_a_prompt_is_a_card_with_the_agent_its_folder_and_its_session(agent: Agent) -> None:
    """It is read as every permission prompt is, and the input is the agent's own bytes."""
    text = '{"command":"touch \\u0041",  "n": 1.50}'
    raw = json.dumps(CLAUDE).replace(json.dumps(CLAUDE["tool_input"]), text).encode()
    with agent.asks(raw) as hook:
        opened = agent.card()
        assert opened.asked is not None
        assert (opened.asked.tool, opened.asked.text) == ("Bash", text)
        assert opened.facts.client == "Claude Code"
        assert (opened.facts.folder, opened.facts.agent) == ("/p", "6b8d")
        assert opened.prompt is not None
        assert opened.prompt.mode == "default"
        assert send(opened, allow(opened)).outcome is service.Outcome.SENT
        printed, _ = hook.communicate(timeout=PATIENCE)
        assert f'"updatedInput": {text}'.encode() in printed


def test_an_input_of_several_lines_is_allowed_by_an_agent_that_runs_its_own(agent: Agent) -> None:
    """It is the same input on one line, and no changed one."""
    with agent.asks(json.dumps(COPILOT, indent=2).replace("\n", "\r\n").encode()) as hook:
        opened = agent.card()
        assert send(opened, allow(opened)).outcome is service.Outcome.SENT
        assert said(hook) == {"behavior": "allow"}


def test_each_decision_is_printed_and_recorded(agent: Agent) -> None:
    """Allow, deny with the words that the model reads, change, hand back."""
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        send(opened, approvals.deny(opened, WORDS))
        assert said(hook)["hookSpecificOutput"]["decision"] == {
            "behavior": "deny",
            "message": WORDS,
        }
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        assert opened.asked is not None
        send(opened, approvals.change(opened, opened.asked, '{"command": "ls"}'))
        assert said(hook)["hookSpecificOutput"]["decision"]["updatedInput"] == {"command": "ls"}
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        send(opened, approvals.hand_back(opened))
        assert said(hook) is None
    records = [
        json.loads(frame.decision)
        for facts in reversed(agent.inbox.sessions())
        for frame in agent.inbox.frames(facts.name)
        if frame.decision
    ]
    assert [one["action"] for one in records] == ["deny", "change", "hand back"]
    named = "Claude Code: PermissionRequest, session 6b8d, /p"
    assert {one["agent"] for one in records} == {named}


def test_questions_of_the_agent_are_answered_in_the_input(agent: Agent) -> None:
    """Claude Code ignores a permission for its question tool without them."""
    options = [{"label": "one"}, {"label": "two"}]
    questions = [{"question": "Which way?", "header": "Way", "options": options}]
    sent = {**CLAUDE, "tool_name": "AskUserQuestion", "tool_input": {"questions": questions}}
    with agent.asks(sent) as hook:
        opened = agent.card()
        send(opened, approvals.answer(opened, {"Which way?": ("two",)}))
        decided = said(hook)["hookSpecificOutput"]["decision"]
    assert decided["behavior"] == "allow"
    assert decided["updatedInput"] == {"questions": questions, "answers": {"Which way?": "two"}}


@pytest.mark.parametrize(
    ("given", "shown"), [({"plan": "1. One"}, "1. One"), ({}, "screen of the agent")]
)
def test_a_plan_is_approved_with_its_input(agent: Agent, given: dict[str, str], shown: str) -> None:
    """Claude Code ignores a permission for its plan without one; the plan may not be in it."""
    with agent.asks({**CLAUDE, "tool_name": "ExitPlanMode", "tool_input": given}) as hook:
        opened = agent.card()
        assert opened.asked is not None
        card = approvals.card_of(opened.asked)
        assert card.kind == "plan"
        assert shown in card.parts[0].lines[0].text
        send(opened, allow(opened))
        assert said(hook)["hookSpecificOutput"]["decision"]["updatedInput"] == given


def test_an_agent_that_runs_its_own_input_offers_no_change(agent: Agent) -> None:
    """A changed one is refused before it is sent, and typed as JSON it allows nothing."""
    with agent.asks(COPILOT) as hook:
        opened = agent.card()
        assert opened.asked is not None
        assert approvals.input_as_typed(opened.asked) == ()
        with pytest.raises(approvals.ApprovalError):
            approvals.change(opened, opened.asked, '{"command": "ls"}')
        typed = json.dumps({"behavior": "allow", "updatedInput": {"command": "ls"}})
        for form in (TextForm.TEXT, TextForm.DECISION):
            assert send(opened, Reply(typed, form)).outcome is service.Outcome.BLOCKED
        agent.inbox.send(opened.key, Reply(typed, TextForm.DECISION))
        until(lambda: agent.inbox.item(opened.key).diagnostics, "the hook gives it back")
        assert send(opened, allow(opened)).outcome is service.Outcome.SENT
        assert said(hook) == {"behavior": "allow"}


@pytest.mark.parametrize("form", TextForm)
def test_what_is_no_decision_is_kept_and_sends_nothing(agent: Agent, form: TextForm) -> None:
    """In any form: neither a desk sends it nor a hook takes it, and the card waits on."""
    null = '{"behavior": "allow", "updatedInput": null}'
    texts = ("no, keep x", "{}", '{"behavior": "allowed"}', null)
    with agent.asks(GEMINI) as hook:
        opened = agent.card()
        for typed in texts:
            result = send(opened, Reply(typed, form, anyway=True))
            assert result.outcome is service.Outcome.BLOCKED
            assert [one.code for one in result.diagnostics] == ["N65"]
            draft = agent.inbox.item(opened.key).draft
            assert draft is not None
            assert draft.text == typed
            agent.inbox.send(opened.key, Reply(typed, form, anyway=True))
            until(lambda: agent.inbox.item(opened.key).reply is None, "the hook gives it back")
        send(opened, approvals.deny(opened, WORDS))
        assert said(hook) == {"decision": "deny", "reason": WORDS}


def test_after_the_limit_the_agent_asks_itself_and_the_card_says_so(agent: Agent) -> None:
    """What comes later is called late."""
    printed, text = agent.home / "printed", json.dumps(QWEN)
    sink = os.open(printed, os.O_WRONLY | os.O_CREAT, 0o600)
    prompt = read_prompt(text, "qwen-code")
    printer = Printer(prompt, sink, time.monotonic() + 600, 600)
    waiting = PromptWaiting(agent.inbox, printer, text.encode(), text)
    assert waiting.is_shown()
    opened = agent.card()
    waiting.step(time.monotonic() + 601)
    waiting.end()
    assert printed.read_text("utf-8") == ""
    again = open_exchange_of(agent.inbox, opened.key)
    assert again.standing is Standing.LATE
    assert send(again, allow(opened)).outcome not in (
        service.Outcome.SENT,
        service.Outcome.QUEUED,
    )
    with agent.asks(GEMINI, "--limit", "0.1") as hook:
        assert said(hook)["decision"] == "deny"


@pytest.mark.parametrize(
    ("sent", "code", "locks"),
    [
        (CLAUDE, "agent beside", False),
        ({**CLAUDE, "agent_id": "a7"}, "agent perhaps", False),
        (COPILOT, "agent ask", True),
        (GEMINI, "agent deny", True),
        ({"unknown": "shape"}, "gives up", False),
    ],
)
def test_the_card_says_when_the_agent_decides_itself_and_whether_its_keyboard_is_locked(
    agent: Agent, sent: object, code: str, locks: object
) -> None:
    """The time on the card is the hook's own."""
    with agent.asks(sent, "--limit", "600") as hook:
        opened = agent.card()
        prompt = opened.prompt
        assert prompt is not None
        assert [one.code for one in prospects(opened.item, 1.0, prompt)] == [code]
        assert opened.item.waiting.limit is not None
        assert 500 < opened.item.waiting.limit < 600  # it counts from the start of the process
        assert bool(prompt.event.locks) is locks
        send(opened, approvals.deny(opened, ""))
        hook.communicate(timeout=PATIENCE)


def test_whoever_answers_first_decides(agent: Agent) -> None:
    """The agent's own dialog was answered: its next hook takes the card away."""
    other = {**CLAUDE, "tool_input": {"command": "ls"}}
    with agent.asks(CLAUDE) as hook, agent.asks(other) as second:
        until(lambda: len(agent.waiting()) == 2, "two cards")
        with agent.asks({**CLAUDE, "hook_event_name": "PostToolUse"}) as over:
            assert said(over) is None
        assert said(hook) is None
        until(lambda: len(agent.waiting()) == 1, "the other waits on")
        closed = [
            item
            for one in agent.inbox.sessions()
            for item in agent.inbox.items(one.name, ExchangeState.ANSWERED)
        ]
        assert [item.answer.by for item in closed if item.answer is not None] == ["keyboard"]
        with agent.asks({**CLAUDE, "hook_event_name": "Stop"}) as over:
            assert said(over) is None
        assert said(second) is None


INPUT: Final = '{"a": 1, "b": [1, {}]}'
TWICE: Final = '{"a": 1, "a": 2}'
"""What nobody can read: which of the two counts differs from program to program."""


@pytest.mark.parametrize(
    ("asked", "ran", "is_same"),
    [
        (INPUT, '{"b": [1, {}], "a": 1}', True),
        (INPUT, '{"a": true, "b": [1, {}]}', False),
        (INPUT, '{"a": 1, "b": [true, {}]}', False),
        (INPUT, '{"a": 1, "b": [1, []]}', False),
        (INPUT, '{"a": 1, "b": [1, {}], "c": null}', False),
        (INPUT, '{"a": "1", "b": [1, {}]}', False),
        (TWICE, '{"b": 1, "b": 1}', False),
        (INPUT, TWICE, False),
    ],
)
def test_only_an_equal_input_takes_a_card_away(
    agent: Agent, asked: str, ran: str, *, is_same: bool
) -> None:
    """Members may come in another order; `true` is not `1`, as it is in Python."""
    sent = {name: one for name, one in CLAUDE.items() if name != "tool_input"}

    def written(event: str, given: str) -> bytes:
        text = json.dumps({**sent, "hook_event_name": event})
        return f'{text[:-1]}, "tool_input": {given}}}'.encode()

    with agent.asks(written("PermissionRequest", asked), "--host", "claude-code"):
        opened = agent.card()
        with agent.asks(written("PostToolUse", ran), "--host", "claude-code") as told:
            assert said(told) is None
        assert (agent.inbox.item(opened.key).reply is not None) is is_same


def test_a_hook_of_another_session_takes_nothing_away(agent: Agent) -> None:
    """Two agents may ask for the same command."""
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        done = {**CLAUDE, "hook_event_name": "PostToolUse", "session_id": "other"}
        with agent.asks(done) as over:
            assert said(over) is None
        assert agent.inbox.item(opened.key).waits
        send(opened, allow(opened))
        assert behavior(said(hook)) == "allow"


def test_what_was_allowed_for_the_session_is_not_asked_again(agent: Agent) -> None:
    """Each prompt is a process of its own; another agent's session is asked."""
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        approvals.allow_like(opened, approvals.patterns_of(opened)[0])
        send(opened, allow(opened))
        assert behavior(said(hook)) == "allow"
    with agent.asks(CLAUDE) as hook:
        assert behavior(said(hook)) == "allow"
    with agent.asks({**CLAUDE, "session_id": "other"}) as hook:
        opened = agent.card()
        send(opened, approvals.deny(opened, ""))
        assert behavior(said(hook)) == "deny"


def test_a_pattern_that_was_taken_back_allows_nothing_more(agent: Agent) -> None:
    """The next prompt asks again."""
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        approvals.allow_like(opened, approvals.patterns_of(opened)[0])
        send(opened, allow(opened))
        said(hook)
    with agent.asks({**CLAUDE, "tool_input": {"command": "ls"}}) as hook:
        opened = agent.card()
        for pattern in approvals.allowed_patterns(opened):
            approvals.take_back(opened, str(pattern))
        send(opened, allow(opened))
        said(hook)
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        send(opened, approvals.deny(opened, ""))
        assert behavior(said(hook)) == "deny"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a signal")
def test_a_host_that_ends_the_hook_is_told_nothing_and_the_card_goes(agent: Agent) -> None:
    """It does so after Esc, and after its own timeout."""
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        hook.send_signal(signal.SIGTERM)
        assert said(hook) is None
        assert agent.inbox.item(opened.key).state is ExchangeState.ABANDONED
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        hook.kill()
        hook.wait()
        until(lambda: not agent.inbox.facts(opened.key.session).is_open, "it is noticed")
        result = send(open_exchange_of(agent.inbox, opened.key), allow(opened))
        assert result.outcome is not service.Outcome.SENT


@pytest.mark.skipif(sys.platform == "win32", reason="there is no `sh`")
def test_an_agent_that_is_killed_leaves_no_card(agent: Agent) -> None:
    """The shell in which it started the hook lives on, and waits for it."""
    words = shlex.join([*COMMAND, "--home", str(agent.home)])
    with subprocess.Popen(
        ["sh", "-c", f"{words}; true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(json.dumps(CLAUDE).encode())
        shell.stdin.close()
        opened = agent.card()
        shell.stdout.close()
        until(lambda: not agent.inbox.item(opened.key).waits, "the card goes")
        assert agent.inbox.item(opened.key).state is ExchangeState.ABANDONED


def test_without_an_inbox_nothing_is_allowed(tmp_path: Path) -> None:
    """The model reads the reason where the agent would run the tool after silence."""
    home = tmp_path / "inbox"
    home.write_text("a file", "utf-8")
    for sent, expected in ((CLAUDE, None), (GEMINI, "deny")):
        process = subprocess.run(
            [*COMMAND, "--home", str(home)],
            input=json.dumps(sent).encode(),
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
        assert process.returncode == 0
        if expected is None:
            assert process.stdout == b""
        else:
            printed = json.loads(process.stdout)
            assert printed["decision"] == expected
            assert str(home) in printed["reason"]


def test_an_unknown_shape_is_shown_and_can_only_be_denied(agent: Agent) -> None:
    """Most agents read exit status 2 as a denial."""
    with agent.asks(b'{"do": "something"}') as hook:
        opened = agent.card()
        assert opened.asked is not None
        assert opened.asked.problem
        assert "something" in opened.item.line
        with pytest.raises(approvals.ApprovalError):
            allow(opened)
        send(opened, approvals.deny(opened, WORDS))
        out, err = hook.communicate(timeout=PATIENCE)
    assert (hook.returncode, out, err.decode().strip()) == (2, b"", WORDS)


def test_an_agent_that_is_gone_was_not_told(agent: Agent) -> None:
    """Nobody reads the decision: nothing says that it was sent."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*COMMAND, "--home", str(agent.home)], stdin=subprocess.PIPE, stdout=writer
    )
    os.close(writer)
    assert process.stdin is not None
    process.stdin.write(json.dumps(CLAUDE).encode())
    process.stdin.close()
    opened = agent.card()
    os.close(reader)
    result = send(opened, allow(opened))
    process.wait(timeout=PATIENCE)
    assert result.outcome is not service.Outcome.SENT


@pytest.mark.parametrize(
    ("is_decided", "standing"), [(True, Standing.UNCONFIRMED), (False, Standing.WITHDRAWN)]
)
def test_a_prompt_ends_with_its_agent_and_a_decision_that_was_there_is_recorded(
    agent: Agent, *, is_decided: bool, standing: Standing
) -> None:
    """Nothing is told that the agent cannot have read."""
    text = json.dumps(CLAUDE)
    reader, sink = os.pipe()
    printer = Printer(read_prompt(text), sink, time.monotonic() + 600, 600)
    waiting = PromptWaiting(agent.inbox, printer, text.encode(), text)
    assert waiting.is_shown()
    opened = agent.card()
    assert waiting.step(time.monotonic()) is not None
    os.close(reader)
    if is_decided:
        agent.inbox.send(opened.key, allow(opened))
    assert waiting.step(time.monotonic()) is None
    waiting.end()
    os.close(sink)
    assert open_exchange_of(agent.inbox, opened.key).standing is standing
    frames = agent.inbox.last_frames_before(opened.key.session, 0, 9)
    actions = [json.loads(one.decision)["action"] for one in frames if one.decision]
    assert actions == (["allow", "unconfirmed"] if is_decided else [])


def ran(agent: Agent, sent: Mapping[str, object], event: str = "PostToolUse") -> Any:  # noqa: ANN401 - any JSON value
    """Tell that a tool has run, or that a turn has ended. Return what the agent is told."""
    with agent.asks({**sent, "hook_event_name": event}) as over:
        return said(over)


def noted(agent: Agent) -> OpenExchange:
    """Return a prompt that was allowed with a note."""
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        send(opened, allow(opened, WORDS))
        assert behavior(said(hook)) == "allow"
    return opened


def test_a_note_goes_to_the_agent_once_with_the_result_of_that_very_call(agent: Agent) -> None:
    """Word for word; until then it is not delivered, and for another call it is not said."""
    opened = noted(agent)
    assert note_told(agent.inbox.item(opened.key)) == (WORDS, "note unread")
    assert ran(agent, {**CLAUDE, "tool_input": {"command": "ls"}}) is None
    assert ran(agent, CLAUDE) == {
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": WORDS}
    }
    assert note_told(agent.inbox.item(opened.key)) == (WORDS, "note read")
    assert ran(agent, CLAUDE) is None


DYING: Final = """
import sys
from humanmcp import cli
from tests.support.killed_process import kill_before
kill_before(int(sys.argv[1]), sys.argv[2], "")
raise SystemExit(cli.main(sys.argv[3:]))
"""


def test_a_note_is_told_as_given_only_if_it_was_printed(agent: Agent) -> None:
    """The hook that tells that the tool has run is killed before each of its writes."""
    over = json.dumps({**CLAUDE, "hook_event_name": "PostToolUse"}).encode()
    seen: list[tuple[bool, str]] = []
    opened = noted(agent)
    for call in itertools.count(1):
        words = [str(call), str(agent.home / "sessions"), "hook", "--home", str(agent.home)]
        run = subprocess.run(
            [sys.executable, "-c", DYING, *words], input=over, capture_output=True, check=False
        )
        told = note_told(agent.inbox.item(opened.key))[1]
        seen += [(bool(run.stdout), told)]
        if run.returncode != -signal.SIGKILL:
            break
        if told != "note unread":
            opened = noted(agent)
    assert run.returncode == 0
    assert list(dict.fromkeys(seen)) == [
        (False, "note unread"),
        (True, "note unknown"),
        (True, "note read"),
    ]


def test_a_note_to_an_agent_that_is_gone_is_not_told_as_given(agent: Agent) -> None:
    """Nobody reads what is printed."""
    opened = noted(agent)
    reader, writer = os.pipe()
    os.close(reader)
    over = json.dumps({**CLAUDE, "hook_event_name": "PostToolUse"}).encode()
    words = [*COMMAND, "--home", str(agent.home)]
    subprocess.run(words, input=over, stdout=writer, timeout=PATIENCE, check=True)
    os.close(writer)
    assert note_told(agent.inbox.item(opened.key)) == (WORDS, "note unknown")
    assert open_exchange_of(agent.inbox, opened.key).standing is Standing.ALLOWED


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--allow",), "Allow sent by you, in the terminal; nothing shows yet that it ran."),
        (("--change", '{"command": "ls"}'), "Allow with a change sent by you, in the terminal;"),
        (("--deny", WORDS), "Denial sent by you, in the terminal; it may"),
        (("--hand-back",), "dialog by you, in the terminal."),
        (("--allow", "--note", "small"), "Allow sent by you, in the terminal;"),
    ],
)
def test_a_terminal_tells_a_decision_in_the_words_of_the_list(
    shell: Shell, words: tuple[str, ...], told: str
) -> None:
    """No JSON that the agent reads; and the agent, which asks nothing now, is not called ended."""
    agent = Agent(shell.home)
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        shown = ("--digest", digest_of(opened.item.line))
        name = f"{opened.key.session}/{opened.key.number}"
        answered = shell("answer", name, *words, *shown)
        assert answered.status == 0
        assert told in answered.out
        assert "{" not in answered.out
        said(hook)
    listed = shell("inbox", "--all").out
    assert told.rstrip(".") in listed
    assert "ended" not in listed
    assert ("small" in shell("show", name).out) is ("small" in words)


@pytest.mark.parametrize(
    "words",
    [("--deny", "no"), ("--change", '{"command": "ls"}'), ("--hand-back",), ("--text", "x")],
)
def test_a_note_beside_anything_but_an_allow_is_refused(
    shell: Shell, words: tuple[str, ...]
) -> None:
    """Nobody would get it."""
    agent = Agent(shell.home)
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        name = f"{opened.key.session}/{opened.key.number}"
        digest = digest_of(opened.item.line)
        refused = shell("answer", name, *words, "--note", "small", "--digest", digest)
        assert refused.status == 2
        assert "--note goes with --allow" in refused.err
        assert open_exchange_of(agent.inbox, opened.key).item.waits
        assert hook.poll() is None


def test_an_agent_that_reads_no_note_gets_none(agent: Agent) -> None:
    """Nothing is sent with one."""
    with agent.asks(QWEN) as hook:
        opened = agent.card()
        assert opened.asked is not None
        with pytest.raises(approvals.ApprovalError):
            approvals.allow(opened, opened.asked, seen=True, note=WORDS)
        send(opened, approvals.deny(opened, ""))
        said(hook)


def test_a_question_that_was_answered_at_the_keyboard_takes_its_card_away(agent: Agent) -> None:
    """What has run holds the answers, which the prompt had not."""
    questions = [{"question": "Which way?", "options": [{"label": "one"}]}]
    sent = {**CLAUDE, "tool_name": "AskUserQuestion", "tool_input": {"questions": questions}}
    answered = {"questions": questions, "answers": {"Which way?": "one"}, "annotations": {}}
    with agent.asks(sent) as hook:
        opened = agent.card()
        ran(agent, {**sent, "tool_input": answered})
        assert said(hook) is None
    assert open_exchange_of(agent.inbox, opened.key).standing is Standing.KEYBOARD


@pytest.mark.parametrize("sent", [CLAUDE, {**CLAUDE, "agent_id": "a7", "agent_type": "Explore"}])
def test_a_tool_that_runs_although_an_equal_one_was_denied_is_told_and_recorded(
    agent: Agent, sent: Mapping[str, object]
) -> None:
    """Its own dialog was open as well, also for a sub-agent: perhaps somebody was faster there."""
    with agent.asks(sent) as hook:
        opened = agent.card()
        send(opened, approvals.deny(opened, WORDS))
        assert behavior(said(hook)) == "deny"
    assert open_exchange_of(agent.inbox, opened.key).standing is Standing.DENIAL_SENT
    ran(agent, sent)
    assert open_exchange_of(agent.inbox, opened.key).standing is Standing.EQUAL_RAN
    frames = agent.inbox.frames(opened.key.session)
    actions = [json.loads(frame.decision)["action"] for frame in frames if frame.decision]
    assert actions == ["deny", "equal ran"]


def test_what_came_and_what_went_is_recorded_byte_for_byte(agent: Agent) -> None:
    """No message that nobody sent is beside it."""
    raw = (
        b'{ "session_id":"s",\n "hook_event_name":"BeforeTool", "tool_name":"x","tool_input":{}}\n'
    )
    with agent.asks(raw, "--host", "gemini-cli") as hook:
        opened = agent.card()
        send(opened, approvals.deny(opened, WORDS))
        out, _ = hook.communicate(timeout=PATIENCE)
    frames = [*agent.inbox.frames(opened.key.session)]
    assert [(one.direction.value, one.raw) for one in frames] == [
        ("in", raw),
        ("out", out.removesuffix(b"\n")),
    ]
    file = agent.inbox.folder(opened.key.session) / "transcript.jsonl"
    checked = subprocess.run(
        [sys.executable, "-m", "humanmcp", "check", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert checked.stderr == ""
    assert "2 lines were not checked" in checked.stdout
    assert "0 messages checked" in checked.stdout


def terminal(agent: Agent, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the terminal in the agent's inbox."""
    return subprocess.run(
        [sys.executable, "-m", "humanmcp", *words, "--home", str(agent.home), "--lang", "en"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def names(agent: Agent) -> list[str]:
    """Return the names that the terminal lists."""
    lines = terminal(agent, "inbox").stdout.splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ")]


def test_the_name_of_a_prompt_is_never_that_of_another_one(agent: Agent) -> None:
    """Who has read one name allows nothing else by it, and no number alone names a prompt."""
    with agent.asks(CLAUDE) as first:
        agent.card()
        assert names(agent) == ["a1/2"]
        first.terminate()
        first.communicate(timeout=PATIENCE)
    with agent.asks(CLAUDE) as second:
        until(lambda: names(agent) == ["a2/2"], "the next prompt")
        for stale in ("1", "2", "a1", "a1/2", "a/1"):
            refused = terminal(agent, "answer", stale, "--allow")
            assert refused.returncode != 0, stale
        assert "Type one of a2/2" in terminal(agent, "answer", "2", "--allow").stderr
        assert second.poll() is None
        assert terminal(agent, "show", "a2").returncode == 0
        assert terminal(agent, "answer", "a2/2", "--allow").returncode == 0
        assert behavior(said(second)) == "allow"
    # The agent is there, also when it asks nothing.
    assert "No host is connected" not in terminal(agent, "inbox").stdout


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process knows when it started")
def test_the_limit_counts_while_the_process_does_not_run(agent: Agent) -> None:
    """On a busy computer as well it ends before its agent's own limit."""
    with agent.asks(CLAUDE, "--limit", "600") as hook:
        hook.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        until(lambda: time.monotonic() > stopped + 1.5, "a part of its limit")
        hook.send_signal(signal.SIGCONT)
        limit = agent.card().item.waiting.limit
        assert limit is not None
        assert limit <= 598.5


@pytest.mark.parametrize(("host", "event"), [("gemini-cli", "BeforeTool"), ("codex", "PreToolUse")])
def test_an_unforeseen_fault_of_ours_runs_no_tool(tmp_path: Path, host: str, event: str) -> None:
    """Silence would run it there: what is safe is printed whatever fails while stdin is read."""
    script = (
        "import sys; from humanmcp import cli; "
        "from humanmcp.extensions.agents import command as one; "
        "read = one.read_prompt; "
        "one.read_prompt = lambda text, *more: read(text, *more) if not text else 1 / 0; "
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    flags = ("--host", host, "--event", event, "--home", str(tmp_path / "inbox"))
    ended = subprocess.run(
        [sys.executable, "-c", script, "hook", *flags],
        input=json.dumps(GEMINI).encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0
    assert b"deny" in ended.stdout


@pytest.mark.parametrize("redirect", ["<&-", "", "</dev/null"], ids=["closed", "open", "empty"])
def test_a_hook_that_is_sent_nothing_ends_at_its_limit(tmp_path: Path, redirect: str) -> None:
    """Also where stdin is closed from the start, or nobody ever closes it."""
    words = [*COMMAND, "--host", "gemini-cli", "--limit", "0.5", "--home", str(tmp_path / "inbox")]
    reader, writer = os.pipe()
    try:
        ended = subprocess.run(
            f"exec {shlex.join(words)} {redirect}",
            shell=True,
            stdin=reader,
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert json.loads(ended.stdout)["decision"] == "deny"


@pytest.mark.parametrize("limit", ["nan", "inf", "-1", "soon"])
def test_a_limit_that_never_comes_is_refused(agent: Agent, limit: str) -> None:
    with agent.asks(GEMINI, "--host", "gemini-cli", f"--limit={limit}") as hook:
        out, err = hook.communicate(timeout=PATIENCE)
    assert hook.returncode == 2  # the agent reads it as a denial
    assert not out
    assert limit in err.decode()


@pytest.mark.parametrize("event", ["PermissionRequest", "PostToolUse"])
def test_a_hook_reads_no_session_of_others(agent: Agent, event: str) -> None:
    """Each prompt, and each tool that ran, waits for it; an inbox may have thousands of them."""
    with agent.asks({**CLAUDE, "session_id": "other"}):
        other = agent.card().key.session
    folder = agent.home / "sessions" / other
    for record in folder.glob("*.json"):
        record.write_text("not JSON", encoding="utf-8")  # whoever reads it writes into the log
    with agent.asks({**CLAUDE, "hook_event_name": event}) as hook:
        if event == "PermissionRequest":
            until(lambda: len([*folder.parent.iterdir()]) == 2, "it has asked")
            hook.terminate()
        hook.communicate(timeout=PATIENCE)
    log = agent.home / "humanmcp.log"
    assert folder.name not in (log.read_text(encoding="utf-8") if log.exists() else "")
