"""What lies in the folder when everything has been used: nothing that the manual does not name."""

import json
from pathlib import Path
from typing import Final

import pytest

from humanmcp.inbox import records
from humanmcp.inbox.contract import Role
from humanmcp.inbox.records import OUT_TEXT
from tests.browser.seats import call
from tests.extensions.host.test_play import Playing
from tests.extensions.tap.tap_process import Tapped, server
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until
from tests.test_docs import names_on_the_page, numberless

CALL: Final = call("1", city="Tokyo")


def serve_and_answer(home: Path, desk: Desking) -> None:
    """Answer in the page, in out.txt with a mistake, and say something first."""
    with Serving(home, "--by-hand", "--title", "served") as host:
        host.say(call("1", city="Tokyo"))
        until(lambda: desk.get("/api/exchanges")["waiting"], "the call waits")
        one = desk.get("/api/exchanges")["waiting"][0]
        here = f"/api/exchanges/{one['session']}/{one['number']}"
        desk.post(f"{here}/draft", {"text": "su", "form": "text"})
        desk.post(f"{here}/reply", {"text": "{}", "form": "result", "anyway": True})
        host.say(call("2", city="Osaka"))
        folder = home / records.SESSIONS / one["session"]
        until(lambda: len(list((folder / records.PENDING).iterdir())) == 1, "the next one waits")
        (folder / OUT_TEXT).write_text("{}", encoding="utf-8")
        until((folder / records.PROBLEMS_TEXT).is_file, "it is refused")
        said = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        desk.post(f"/api/sessions/{one['session']}/say", {"text": said, "anyway": True})
        until(lambda: list((folder / records.OUTBOX).glob("*.result.json")), "it was said")
        host.close()


@pytest.mark.extension("books")
@pytest.mark.extension("text_files")
def test_everything_that_is_written_is_explained(tmp_path: Path) -> None:
    """A desk, a server, a tap that holds, and people in other seats; then a look around."""
    home = tmp_path / "home"
    with Desking(home) as desk:
        desk.cookie()
        desk.post("/api/answers", {"name": "sun", "method": "tools/call", "text": "sunny"})
        desk.post("/api/rules", {"method": "tools/call", "text": "sunny", "form": "text"})
        serve_and_answer(home, desk)
        desk.submit("/try")
        with Tapped(home, server("echo"), "--hold", "tools/call") as tap:
            tap.say(CALL.encode() + b"\n")
            until(lambda: list(home.glob(f"**/{records.HOLDS}")), "the tap holds")
        with Playing(home, "host,model") as table:
            table.waiting(Role.HOST, "elicitation/create")
        until((home / "demo").is_dir, "the demo has begun")
    sessions = {path.name for path in (home / records.SESSIONS).iterdir()}
    found = {
        numberless(path.name)
        for path in home.rglob("*")
        if path.name not in sessions
        and path.parent.name not in {records.TEMPORARY, records.WRITERS}
    }
    assert {"book.toml", "logins.json", "holds.json", "1.result.json", "desk.log"} <= found
    exchange = numberless(records.exchange_name(1))
    assert found - {exchange} - names_on_the_page() == set()
    assert json.loads((home / "answers" / "0001.json").read_text("utf-8"))["name"] == "sun"
