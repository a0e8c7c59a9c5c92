"""Lines that no server takes, which another program wrote into the inbox: each has its page."""

import pytest

from humanmcp.extensions import links
from humanmcp.inbox.contract import Key
from tests.support.desk_process import Desking
from tests.support.inbox_folder import CALL, Room


def nested(depth: int) -> str:
    """Return a list of lists."""
    return "[" * depth + "]" * depth


LINES = {
    "no JSON": "x",
    "nothing": "",
    "half an object": "{",
    "a batch": "[]",
    "a response": '{"jsonrpc":"2.0","id":3,"result":{}}',
    "half a character": '{"id":3,"method":"\\ud800"}',
    "a method of lists": f'{{"jsonrpc":"2.0","id":3,"method":{nested(200)}}}',
    **{
        f"{depth} deep": CALL.replace('"東京"', nested(depth))
        for depth in (120, 130, 900, 1500, 100_000)
    },
    "deep parameters": f'{{"jsonrpc":"2.0","id":3,"method":"ping","params":{nested(5000)}}}',
}
PAGES = (
    "",
    "?whole=1",
    "/line",
    "/status",
    *(one.address.rpartition("}")[2] for one in links("answer")),
)
CALLS = ("check", "autofix", "draft", "fault", "reply")


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_whatever_stands_in_the_inbox_has_its_page(room: Room, desk: Desking, line: str) -> None:
    """And its calls answer: nothing of it is an error of ours."""
    session = room.session()
    room.serve(session)
    key: Key = room.ask(session, 3, line)
    path = f"/m/{session}/{key.number}"
    for page in PAGES:
        assert (page, desk.ask("GET", path + page, headers=desk.bearer).status) == (page, 200)
    body = {"text": "{}", "fault": None}
    for call in CALLS:
        status = desk.post(f"/api/exchanges/{session}/{key.number}/{call}", body).status
        assert (call, status < 500) == (call, True)
    for list_ in ("/", "/history", "/present", f"/export/{session}?form=html"):
        assert (list_, desk.ask("GET", list_, headers=desk.bearer).status) == (list_, 200)
