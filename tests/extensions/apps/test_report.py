"""What a host did with the page of the probe: one word for each sentence, over reports."""

import json
import time
from typing import Any, Final

import pytest

from humanmcp.extensions.apps.report import Seen, Stage, musts, seen_in, verdicts
from humanmcp.protocol.conversation.transcript import Direction, Frame
from tests.support.desk_process import Desking
from tests.support.inbox_folder import Shell
from tests.support.serve_process import Serving
from tests.support.waiting import until

UI: Final[Any] = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": []}}}
RESULT: Final = {"content": [{"type": "text", "text": "7421"}], "structuredContent": {"number": 1}}
CALL: Final = {"name": "probe", "arguments": {"word": "a"}}
READ: Final = {"uri": "ui://humanmcp/probe"}

SHAKEN: Final = {
    "at": 5,
    "answered": "ui/initialize",
    "message": {
        "id": 1,
        "result": {
            "protocolVersion": "2026-01-26",
            "hostInfo": {"name": "h", "version": "1"},
            "hostCapabilities": {},
        },
    },
}
INPUT: Final = {
    "at": 500,
    "message": {"method": "ui/notifications/tool-input", "params": {"arguments": {"word": "a"}}},
}
OUTCOME: Final = {
    "at": 600,
    "message": {"method": "ui/notifications/tool-result", "params": RESULT},
}
MODE: Final = {
    "at": 800,
    "answered": "ui/request-display-mode",
    "message": {"id": 2, "result": {"mode": "inline"}},
}
REJECTED: Final = {
    "at": 800,
    "answered": "tools/call",
    "message": {"id": 3, "error": {"code": -32000, "message": "no"}},
}
FRAME: Final = {
    "blocked": ["https://undeclared.invalid/"],
    "tried": ["https://undeclared.invalid/", "https://declared.invalid/"],
    "top": "SecurityError",
    "initialized": 400,
    "height": 150,
    "resized": 333,
}
GOOD: Final = [SHAKEN, INPUT, OUTCOME, MODE, REJECTED]
WELL: Final = {
    "declared": "kept",
    "read": "came",
    "initialize": "came",
    "order": "kept",
    "input": "came",
    "result": "came",
    "input_first": "kept",
    "structured": "came",
    "size": "kept",
    "mode": "came",
    "undeclared": "kept",
    "domain": "kept",
    "app_only": "not seen",
    "model_only": "kept",
    "apart": "kept",
    "teardown": "not seen",
}


def line(direction: str, body: object) -> Frame:
    raw = json.dumps({"jsonrpc": "2.0", **body}).encode()  # type: ignore[dict-item]  # a message
    return Frame(1, "", Direction(direction), raw)


def asked(number: int, method: str, params: object) -> Frame:
    return line("in", {"id": number, "method": method, "params": params})


def report(messages: object, frame: object, page: object = "p") -> Frame:
    arguments = {"page": page, "messages": messages, "frame": frame}
    return asked(9, "tools/call", {"name": "report", "arguments": arguments})


SHAKE: Final = asked(1, "initialize", {"capabilities": UI})
BEGIN: Final = (
    SHAKE,
    asked(2, "tools/call", CALL),
    line("out", {"id": 2, "result": RESULT}),
    asked(3, "resources/read", READ),
)


def words(frames: tuple[Frame, ...]) -> dict[str, str]:
    return {one.name: one.word.value for one in verdicts(seen_in(frames))}


def without(*left_out: object) -> list[Any]:
    return [one for one in GOOD if one not in left_out]


def changed(_message: dict[str, Any], /, **members: object) -> dict[str, Any]:
    return {**_message, **members}


LATE_INPUT: Final = changed(INPUT, at=700)
OTHER: Final = {"method": "ui/notifications/tool-input", "params": {"arguments": {"word": "b"}}}
FIXED: Final = changed(
    SHAKEN,
    message={"result": {"hostContext": {"containerDimensions": {"height": 150}}}},
)
CASES: Final[dict[str, tuple[list[Any], dict[str, Any], dict[str, str]]]] = {
    "a good host": (GOOD, {}, {}),
    "no arguments": (without(INPUT), {}, {"input": "never", "input_first": "too early"}),
    "arguments twice": ([*GOOD, INPUT], {}, {"input": "came twice"}),
    "arguments too early": (
        [changed(INPUT, at=300), *without(INPUT)],
        {},
        {"input": "too early", "order": "too early"},
    ),
    "other arguments": (
        [SHAKEN, changed(INPUT, message=OTHER), OUTCOME, MODE, REJECTED],
        {},
        {"input": "wrong shape"},
    ),
    "no result": (
        without(OUTCOME),
        {},
        {"result": "never", "input_first": "not seen", "structured": "not seen"},
    ),
    "the result before the arguments": (
        [SHAKEN, OUTCOME, LATE_INPUT, MODE, REJECTED],
        {},
        {"input_first": "too early"},
    ),
    "half of the result": (
        [
            *without(OUTCOME),
            changed(OUTCOME, message={"method": "ui/notifications/tool-result", "params": {}}),
        ],
        {},
        {"result": "wrong shape", "structured": "never"},
    ),
    "other structured content": (
        [
            *without(OUTCOME),
            changed(
                OUTCOME,
                message={
                    "method": "ui/notifications/tool-result",
                    "params": {**RESULT, "structuredContent": {}},
                },
            ),
        ],
        {},
        {"structured": "wrong shape"},
    ),
    "a ping before initialized": (
        [{"at": 9, "message": {"method": "ping", "id": 1}}, *GOOD],
        {},
        {"order": "too early"},
    ),
    "no handshake": (without(SHAKEN), {}, {"initialize": "never"}),
    "a handshake without a name": (
        [changed(SHAKEN, message={"result": {}}), *without(SHAKEN)],
        {},
        {"initialize": "wrong shape"},
    ),
    "the size is not taken": (GOOD, {"resized": 150}, {"size": "not kept"}),
    "the size is fixed": (
        [FIXED, *without(SHAKEN)],
        {"resized": 150},
        {"size": "not seen", "initialize": "wrong shape"},
    ),
    "no mode": (without(MODE), {}, {"mode": "never"}),
    "an error for the mode": (
        [*without(MODE), changed(MODE, message={"error": {"code": -32601}})],
        {},
        {"mode": "wrong shape"},
    ),
    "nothing is blocked": (GOOD, {"blocked": []}, {"undeclared": "not kept"}),
    "everything is blocked": (
        GOOD,
        {"blocked": ["https://undeclared.invalid", "https://declared.invalid"]},
        {"domain": "stricter"},
    ),
    "nothing was tried": (
        GOOD,
        {"blocked": [], "tried": []},
        {"undeclared": "not seen", "domain": "not seen"},
    ),
    "no answer to the call": (without(REJECTED), {}, {"model_only": "not seen"}),
    "the document is reached": (GOOD, {"top": "reached"}, {"apart": "not kept"}),
    "a farewell": (
        [*GOOD, {"at": 9000, "message": {"method": "ui/resource-teardown", "id": 1}}],
        {},
        {"teardown": "came"},
    ),
}


@pytest.mark.parametrize(("messages", "frame", "differs"), CASES.values(), ids=CASES)
def test_each_thing_that_a_host_does_wrong_has_its_word(
    messages: list[Any], frame: dict[str, Any], differs: dict[str, str]
) -> None:
    assert words((*BEGIN, report(messages, FRAME | frame))) == WELL | differs


def test_nothing_is_never_before_the_page_has_waited() -> None:
    begun = {name: value for name, value in FRAME.items() if name != "resized"}
    said = words((*BEGIN, report([SHAKEN], begun)))
    assert {said["input"], said["result"], said["mode"], said["size"]} == {"not seen"}


def test_a_result_is_not_missing_while_a_person_still_writes_it() -> None:
    said = words((*BEGIN[:2], BEGIN[3], report(without(OUTCOME), FRAME)))
    assert said["result"] == "not seen"


def test_a_call_that_arrives_was_not_rejected_and_a_model_that_reports_sees_too_much() -> None:
    for_model = asked(5, "tools/call", {"name": "model_only", "arguments": {"page": "p"}})
    by_model = asked(6, "tools/call", {"name": "report", "arguments": {}})
    said = words((*BEGIN, for_model, by_model, report(GOOD, FRAME)))
    assert (said["model_only"], said["app_only"]) == ("not kept", "not kept")
    another = asked(5, "tools/call", {"name": "model_only", "arguments": {"page": "q"}})
    assert words((*BEGIN, another, report(GOOD, FRAME)))["model_only"] == "kept"


@pytest.mark.parametrize(
    ("frames", "stage"),
    [
        ((SHAKE,), Stage.NOT_CALLED),
        (BEGIN[:3], Stage.NOT_READ),
        (BEGIN, Stage.SILENT),
        ((*BEGIN, report(GOOD, FRAME)), Stage.REPORTED),
    ],
)
def test_a_host_that_never_shows_the_page_is_told_so(
    frames: tuple[Frame, ...], stage: Stage
) -> None:
    assert seen_in(frames).stage is stage
    assert words(frames)["declared"] == "kept"


def test_a_client_declares_in_each_request_of_2026_07_28() -> None:
    meta = {"io.modelcontextprotocol/clientCapabilities": UI}
    assert words((asked(1, "tools/list", {"_meta": meta}),))["declared"] == "kept"
    undeclared: Any = {"io.modelcontextprotocol/clientCapabilities": {}}
    assert words((asked(1, "tools/list", {"_meta": undeclared}),))["declared"] == "never"
    assert words((asked(1, "initialize", {"capabilities": {}}),))["declared"] == "never"
    assert words((asked(1, "tools/list", {}),))["declared"] == "not seen"
    assert words(())["declared"] == "not seen"


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, "x", [], {}, [[]], [7], {"message": 7}, True, 1e400, "\ud800"),
        pytest.param(10**400, id="more than a float can be"),
    ],
)
def test_whatever_a_page_reports_is_judged_and_never_raises(value: Any) -> None:  # noqa: ANN401 - anything
    messages = [{"at": value, "message": value}, {"answered": "ui/initialize", "message": value}]
    for method in ("tool-input", "tool-result", "size-changed"):
        said = {"method": f"ui/notifications/{method}", "params": value}
        messages.append({"at": value, "message": said})
    for frame in (dict.fromkeys(FRAME, value), value):
        for page in ("p", value):
            for listed in (messages, value, [value]):
                assert set(words((*BEGIN, report(listed, frame, page)))) == set(musts())


def test_a_report_of_very_many_messages_is_judged_by_its_first() -> None:
    """No time that grows with their square: the page of the probe stops at forty."""
    inputs = [changed(INPUT, at=number + 700) for number in range(10_000)]
    seen = seen_in((*BEGIN, report([SHAKEN, OUTCOME, *inputs], FRAME)))
    began = time.process_time()
    assert ("input", "came twice") in {(one.name, one.word.value) for one in verdicts(seen)}
    assert time.process_time() - began < 0.5


def test_every_sentence_has_its_word() -> None:
    assert {one.name for one in verdicts(Seen())} == set(WELL) == set(musts())
    assert all(one["quote"] for one in musts().values())


def test_the_book_of_the_probe_answers_without_a_person_and_the_command_tells(
    home: Any,  # noqa: ANN401 - the fixture
    shell: Shell,
) -> None:
    """`--book app-probe` is found by its name; the words are those of the transcript."""
    with Serving(home, "--book", "app-probe", "--auto") as server:
        server.send(asked(1, "resources/read", READ).text)
        page = json.loads(server.hear())["result"]["contents"][0]
        assert page["mimeType"] == "text/html;profile=mcp-app"
        assert "src=" not in page["text"]
        assert "import" not in page["text"]
        server.send(asked(2, "tools/call", CALL).text)
        assert json.loads(server.hear())["result"]["structuredContent"] == {"number": 7421}
        until(server.find_session, "a session")
        ended = shell("apps")
        assert ended.status == 1
        assert "No message of the page came" in ended.err
        server.send(report(GOOD, FRAME).text)
        server.hear()
        assert "守った" in shell("apps", "--lang", "ja").out
        told = json.loads(shell("apps", "--json").out)
        assert told["stage"] == "reported"
        assert len(told["verdicts"]) == len(WELL)
        name = until(server.find_session, "a session").name
        with Desking(home) as desk:
            shown = desk.page(f"/apps/{name}")
            assert "The page reported. Calls of the tool: 1." in shown
            assert "rejects the page&#39;s call" in shown
            assert f'href="/apps/{name}"' in desk.page(f"/say/{name}")
            assert desk.ask("GET", f"/apps/{name}").status == 401
