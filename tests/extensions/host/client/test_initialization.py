"""A probe loses no server that is only slow to start."""

import json
import sys

import pytest

from humanmcp.common.child import ChildTransport
from humanmcp.extensions.host.client import handshake
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.client.client import Client
from humanmcp.extensions.host.client.handshake import HandshakeError, NoAnswerError, SessionStart
from humanmcp.protocol.conversation.outcomes import ResponseArrived
from tests.extensions.host.client.test_client import seat
from tests.extensions.host.seats import Notes, in_memory
from tests.extensions.host.test_sdk_servers import PYTHON_2
from tests.support.waiting import until

SLOW = "late-discover"
LOST = "lost-discover"
REFUSES = "refuses-initialize"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every first probe be too late."""
    monkeypatch.setattr(handshake, "PROBE_TIMEOUT", 0.05)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param(("modern", SLOW, REFUSES), ["initialize"], id="late"),
        pytest.param(("modern", SLOW, "no-initialize-answer"), ["initialize"], id="late-and-mute"),
        pytest.param(
            ("modern", LOST, REFUSES), ["initialize", "server/discover"], id="lost-then-again"
        ),
    ],
)
def test_a_modern_server_that_starts_slowly_is_not_lost(
    flags: tuple[str, ...], said: list[str]
) -> None:
    """A late answer counts, and -32022 is evidence enough to probe again."""
    with seat(in_memory, *flags) as (client, notes):
        client.open(SessionStart.PROBE)
        assert client.stated == "2026-07-28"
        assert client.server_capabilities == {"tools": {}}
        assert [json.loads(line)["method"] for line in notes.sent] == ["server/discover", *said]
        assert "tools" in (client.request("tools/list").result or {})


def test_a_late_refusal_leaves_the_handshake_as_it_was() -> None:
    """An old server that was slow; nobody is told that nobody waits, since it has answered."""
    with seat(in_memory, SLOW) as (client, notes):
        client.open(SessionStart.PROBE)
        assert client.stated == ""
        assert client.session.state.negotiated_version == "2025-11-25"
        methods = [json.loads(line)["method"] for line in notes.sent]
        assert methods == ["server/discover", "initialize", "notifications/initialized"]


def test_a_probe_that_is_never_answered_is_cancelled_after_the_handshake() -> None:
    """Before that its answer would still have counted; after it, it belongs to nothing."""
    with seat(in_memory, "no-discover-answer") as (client, notes):
        client.open(SessionStart.PROBE)
        methods = [json.loads(line)["method"] for line in notes.sent]
        assert methods[1:] == ["initialize", "notifications/initialized", "notifications/cancelled"]


@pytest.mark.parametrize(
    ("flags", "trouble"),
    [
        (("no-discover-answer", REFUSES), "supports only 2026-07-28"),
        ((LOST, REFUSES), "supports only 2026-07-28"),
    ],
)
def test_it_is_probed_again_once_and_not_for_ever(flags: tuple[str, ...], trouble: str) -> None:
    """A server that says -32022 and then nothing of use is given up, with what it said."""
    with seat(in_memory, *flags, timeout=0.2) as (client, notes):
        with pytest.raises(HandshakeError, match=trouble):
            client.open(SessionStart.PROBE)
        methods = [json.loads(line)["method"] for line in notes.sent]
        assert methods.count("server/discover") == 2


def test_a_server_that_says_nothing_at_all_costs_one_timeout() -> None:
    """The probe's and that of the handshake, and not a second one of each."""
    flags = ("no-discover-answer", "no-initialize-answer")
    with (
        seat(in_memory, *flags, timeout=0.2) as (client, _notes),
        pytest.raises(NoAnswerError, match=r"initialize within 0\.2 s"),
    ):
        client.open(SessionStart.PROBE)


def test_who_chose_the_handshake_is_told_what_to_choose() -> None:
    """No silent change of the era, but a sentence that helps."""
    with (
        seat(in_memory, "modern", REFUSES) as (client, _notes),
        pytest.raises(HandshakeError, match="--start modern"),
    ):
        client.open(SessionStart.HANDSHAKE)


def test_a_real_server_of_the_python_sdk_that_starts_slowly_is_modern() -> None:
    """It decides on the first message, and refuses the handshake from then on."""
    notes = Notes()
    client = Client(ChildTransport(PYTHON_2), Nobody(), observers=[notes])
    try:
        client.open(SessionStart.PROBE)
        assert client.stated == "2026-07-28"
        assert client.call("tools/list").result
        until(
            lambda: any(isinstance(one, ResponseArrived) and one.request for one in notes.events),
            "an answer",
        )
    finally:
        client.close()
    assert any('"initialize"' in line for line in notes.sent), sys.version
