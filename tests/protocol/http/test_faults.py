"""What becomes of a status and of headers that are wrong on purpose."""

import pytest

from humanmcp.protocol.http.outbound import HttpFault
from humanmcp.protocol.spec.faults import Fault

RIGHT = (("content-length", "2"), ("mcp-session-id", "mine"), ("content-type", "application/json"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("wrong-status", HttpFault(Fault.WRONG_STATUS, 500)),
        ("wrong-status 404", HttpFault(Fault.WRONG_STATUS, 404)),
        ("wrong-status 99", None),
        ("wrong-status 200", HttpFault(Fault.WRONG_STATUS, 200)),
        ("wrong-status 599", HttpFault(Fault.WRONG_STATUS, 599)),
        ("wrong-status 199", None),
        ("wrong-status 600", None),
        ("wrong-status x", None),
        ("wrong-status ٤٠٤", None),
        ("cut-stream", HttpFault(Fault.CUT_STREAM, 20)),
        ("cut-stream 0", HttpFault(Fault.CUT_STREAM, 0)),
        ("cut-stream 000000010", HttpFault(Fault.CUT_STREAM, 10)),
        ("cut-stream 0000000010", None),
        ("cut-stream 1000000", HttpFault(Fault.CUT_STREAM, 1_000_000)),
        ("cut-stream 1000001", None),
        ("cut-stream " + "1" * 5000, None),
        ("no-type", HttpFault(Fault.NO_TYPE)),
        ("no-type 3", None),
        ("wrong-id", None),
    ],
)
def test_a_fault_is_named_with_the_number_that_it_can_have(
    text: str, found: HttpFault | None
) -> None:
    """And nothing else is a fault of HTTP."""
    assert HttpFault.read(text) == found


@pytest.mark.parametrize(
    ("fault", "status", "headers"),
    [
        ("wrong-status 418", 418, RIGHT),
        ("wrong-type", 200, (*RIGHT[:2], ("content-type", "text/html"))),
        ("no-type", 200, RIGHT[:2]),
        ("other-session", 200, (RIGHT[0], RIGHT[2], ("mcp-session-id", "another-session"))),
    ],
)
def test_one_thing_of_the_head_is_wrong_and_the_rest_is_right(
    fault: str, status: int, headers: tuple[tuple[str, str], ...]
) -> None:
    """So that it is seen what a client does with this one."""
    broken = HttpFault.read(fault)
    assert broken is not None
    assert broken.status(200) == status
    assert broken.headers(RIGHT) == headers


@pytest.mark.parametrize(
    ("fault", "status"), [("unauthorized", 401), ("lost-session", 404), ("redirect", 307)]
)
def test_what_stands_in_the_place_of_an_answer_has_its_status(fault: str, status: int) -> None:
    """A redirect leads back to the endpoint."""
    broken = HttpFault.read(fault)
    assert broken is not None
    found, headers = broken.instead("/mcp")
    assert found == status
    assert all(value.startswith("/mcp") for name, value in headers if name == "location")
