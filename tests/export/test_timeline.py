"""The exchanges of a session over time: who had them when, and how long they took."""

import json
import re
from datetime import UTC
from typing import Any

from humanmcp.common.timestamps import seconds_of
from humanmcp.export import timeline
from humanmcp.export.command import FORMATS, redacted, written
from humanmcp.export.recording import ExportOptions, Recording, build_conversation
from humanmcp.export.timeline import Bar, Latency, latencies
from humanmcp.protocol.conversation.transcript import (
    CHANGED,
    DROPPED,
    HELD,
    INSTEAD,
    LET_GO,
    Direction,
    Frame,
)
from tests.protocol.conversation.test_prompts import CLAUDE
from tests.support.recordings import answer, ask, call, frame, text

IN, OUT, NOTE = Direction.IN, Direction.OUT, Direction.NOTE
START = seconds_of(frame(0, IN, "").at)
CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}


def bars(*frames: Frame) -> list[tuple[object, ...]]:
    """Return each bar in seconds from 0: its end, whether answered, who had it when, its marks."""
    found = timeline.bars(build_conversation(Recording("s", frames)))
    return [
        (
            round(one.end - START),
            one.answered,
            [(round(begin - START), round(end - START)) for begin, end in one.person],
            [(round(at - START), kind) for at, kind in one.marks],
        )
        for one in found
    ]


def calls(seq: int, number: int = 0, note: str = "") -> Frame:
    """Return a call with the id 1."""
    return frame(seq, *call(1, "Tokyo"), number=number, note=note)


def answers(seq: int, **more: Any) -> Frame:  # noqa: ANN401 - any field of a frame
    """Return its response."""
    return frame(seq, *answer(1, result=text("sunny")), **more)


def test_a_person_has_a_call_until_they_press_send() -> None:
    """The record of their decision says when; without one it is until the response."""
    record = json.dumps({"sent_at": frame(3, IN, "").at})
    assert bars(calls(1), answers(4, by="desk", decision=record)) == [(4, True, [(1, 3)], [])]
    assert bars(calls(1), answers(4, by="files")) == [(4, True, [(1, 4)], [])]
    assert bars(calls(1), answers(4, by="desk", decision="torn {")) == [(4, True, [(1, 4)], [])]


def test_what_a_program_answers_is_on_its_way_all_the_time() -> None:
    """The answer book, a real server, and a call that nobody answered."""
    assert bars(calls(1), answers(4, by="book: rule 2")) == [(4, True, [], [])]
    assert bars(calls(1), answers(4)) == [(4, True, [], [])]
    assert bars(calls(1), frame(9, IN, "no message")) == [(9, False, [], [])]


def test_a_person_has_what_a_tap_holds() -> None:
    """A request, its response, or both, until it is released, changed or answered."""
    let_go = frame(3, NOTE, "", number=1, note=LET_GO)
    assert bars(calls(1, 1, HELD), let_go, answers(6)) == [(6, True, [(1, 3)], [])]
    changed = frame(3, *call(1, "Osaka"), number=1, note=CHANGED)
    assert bars(calls(1, 1, HELD), changed, answers(6)) == [(6, True, [(1, 3)], [])]
    instead = answers(5, number=1, note=INSTEAD, by="desk")
    assert bars(calls(1, 1, HELD), instead) == [(5, True, [(1, 5)], [])]
    both = (let_go, answers(6, number=2, note=HELD), frame(8, NOTE, "", number=2, note=LET_GO))
    assert bars(calls(1, 1, HELD), *both) == [(8, True, [(1, 3), (6, 8)], [])]
    dropped = frame(4, NOTE, "", number=1, note=DROPPED)
    assert [one[:2] for one in bars(calls(1, 1, HELD), dropped)] == [(4, False)]


def test_the_prompts_of_an_agent_and_other_steps_have_their_bars() -> None:
    """By the number of the exchange: a person has a prompt until it is decided, or too late."""
    about = "prompt claude-code PermissionRequest"
    record = json.dumps({"sent_at": frame(4, IN, "").at, "action": "allow"})
    found = timeline.bars(
        build_conversation(
            Recording(
                "s",
                (
                    frame(1, IN, CLAUDE, number=1, note=about),
                    frame(2, IN, {**CLAUDE, "agent_type": "Explore"}, number=2, note=about),
                    frame(5, OUT, "", number=1, note=about, by="desk", decision=record),
                    frame(6, IN, CLAUDE, number=3, note=about),
                    frame(8, OUT, "", number=2, note=about),
                ),
            )
        )
    )
    told = [(one.start - START, one.end - START, one.answered) for one in found]
    assert [tuple(map(round, one)) for one in told] == [(1, 5, 1), (2, 8, 1), (6, 8, 0)]
    assert [len(one.person) for one in found] == [1, 1, 0]
    assert round(found[0].person[0][1] - START) == 4
    given: Any = CLAUDE["tool_input"]
    assert [(one.name, one.gist) for one in found[:2]] == [
        ("Run a command", given["command"]),
        ("Explore: Run a command", given["command"]),
    ]


def test_mistakes_retries_and_cancellations_are_on_the_bar() -> None:
    """An error, a tool error, a retry keepalive, a cancelled call ends there."""
    failed = answer(1, result={**text("no"), "isError": True})
    assert bars(calls(1), frame(3, *failed)) == [(3, True, [], [(3, "mistake")])]
    error = answer(1, error={"code": -32603, "message": "no"})
    assert bars(calls(1), frame(3, *error)) == [(3, True, [], [(3, "mistake")])]
    assert bars(calls(1), answers(2, note="retry"))[0][3] == [(2, "retry")]
    assert bars(calls(1), frame(4, IN, CANCEL), frame(9, *ask(2, "ping"))) == [
        (4, False, [], [(4, "cancelled")]),
        (9, False, [], []),
    ]


def test_a_call_that_is_asked_again_to_keep_it_waiting_is_one_bar() -> None:
    """From the first time that it was asked until it is answered, with a sign at each retry."""
    again = frame(3, *call(2, "Tokyo"), number=7)
    told = frame(6, *answer(2, result=text("sunny")), number=7, by="desk")
    kept = (calls(1, 7), answers(2, note="retry", number=7))
    assert bars(*kept, again, told) == [(6, True, [(1, 6)], [(2, "retry")])]
    assert len(bars(*kept, frame(3, *call(2, "Osaka"), number=8), told)) == 2


def test_latency_is_of_answered_exchanges_by_tool() -> None:
    """The median, and the time within which 99 of 100 were answered."""
    took = [*range(1, 100), 1000]
    found = [
        Bar(at, "tools/call", "a", 0, seconds, answered=True) for at, seconds in enumerate(took)
    ]
    found += [
        Bar(200, "ping", "", 0, 7, answered=True),
        Bar(201, "ping", "", 0, 5000, answered=False),
    ]
    assert latencies(found) == [
        Latency("", 101, 50, 99),
        Latency("tools/call a", 100, 50.5, 99),
        Latency("ping", 1, 7, 7),
    ]
    assert latencies([]) == []


def test_the_exported_page_has_both_as_one_file_without_secrets() -> None:
    """No script, nothing from elsewhere; each bar leads to its line; what is hostile is text."""
    secret = "sk-ant-api03-" + "a1B2" * 12
    hostile = '"><script>alert(1)</script>\u202e'
    frames = (
        frame(1, *ask(1, "tools/call", name=hostile, arguments={"api_key": secret})),
        frame(3, *answer(1, result=text(secret))),
        frame(4, *ask(2, "resources/read", uri=f"http://x/{secret}")),
    )
    form = FORMATS["html"]
    recording, _names = redacted(Recording("s", frames))
    page = written(form, recording, ExportOptions(UTC))
    assert secret not in page
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!#|https://modelcontextprotocol)', page)
    assert re.findall(r'<li><a href="(.*?)"', page) == ["#line-1", "#line-4"]
    assert page.count('<rect class="way') == 2
    assert '<table class="latency">' in page


def test_of_a_long_session_the_last_exchanges_are_drawn() -> None:
    """The page says how many there are."""
    found = [
        Bar(seq, "ping", "", seq, seq + 0.5, answered=True) for seq in range(timeline.MOST + 5)
    ]
    shown = "".join(timeline.draw(found, "#line-{seq}"))
    assert "The last 1000 of 1005 exchanges." in shown
    assert shown.count("<rect") == timeline.MOST + 3  # and those of the legend
    assert "".join(timeline.draw([], "")) == ""


def test_what_came_just_now_is_seen() -> None:
    """It has no length yet, and a rectangle without width is not drawn."""
    found = [
        Bar(1, "ping", "", 0.0, 9.0, answered=True),
        Bar(2, "ping", "", 9.0, 9.0, answered=False),
    ]
    widths = re.findall(r'<rect class="way.*?width="([\d.]+)%"', "".join(timeline.draw(found, "")))
    assert [float(one) for one in widths] == [97.0, 0.3]


def test_the_time_line_has_an_axis_and_tells_calls_of_one_tool_apart() -> None:
    """A quarter of the width has its time, at each zoom; a bar has its arguments."""
    conversation = build_conversation(Recording("s", (calls(1), answers(9))))
    drawn = "\n".join(timeline.draw(timeline.bars(conversation), "#{seq}"))
    assert re.findall(r'zoom-1"><line[^>]*/>\s*<text[^>]*>([^<]*)', drawn) == [
        *("0.00 s", "2.00 s", "4.00 s", "6.00 s")
    ]
    assert drawn.count('class="tick') == 4 * timeline.ZOOMS[-1]
    assert re.findall(r"<small>([^<]*)</small>", drawn) == ["city: &quot;Tokyo&quot;"]
