"""The settings as a page: where everything is, how long clients wait, old sessions."""

import html
import json
import re
from pathlib import Path

from humanmcp.inbox.contract import SessionFacts
from humanmcp.inbox.folder import FolderInbox
from tests.support.desk_process import Desking


def test_old_sessions_are_found_by_client_and_removed(tmp_path: Path) -> None:
    """Those of one client stand together; one that still runs stays, whatever is sent."""
    home = tmp_path / "home"
    inbox = FolderInbox(home)
    names = []
    for client in ("claude-code", "claude-code", "other"):
        facts = SessionFacts("", "2026-11-20T18:00:00.000Z", client=client)
        names.append(inbox.begin_session(facts))
        inbox.end(names[-1])
    runs = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z", client="other"))
    with Desking(home, "--lang", "en") as desk:
        page = desk.page("/settings")
        assert str(home) in page
        assert page.count("<details") == 2
        assert names[2] not in desk.page("/settings?q=claude")
        drop = {f"drop_{names[0]}": "on", f"drop_{runs}": "on"}
        desk.submit("/settings", **drop)
        left = {one["name"] for one in desk.get("/api/sessions")["sessions"]}
        assert left == {names[1], names[2], runs}


def test_a_client_whose_name_hides_characters_is_shown_and_gets_its_limit(tmp_path: Path) -> None:
    """A form would send another line end than the name has."""
    home, client = tmp_path / "home", "a\r\n\x1b[2J\u202eb"
    inbox = FolderInbox(home)
    inbox.end(inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z", client=client)))
    with Desking(home, "--lang", "en") as desk:
        page = html.unescape(desk.page("/settings"))
        assert not {"\r", "\x1b", "\u202e"} & set(page)
        field = re.search(r'name="(call a[^"]*)"', page)
        assert field is not None
        desk.submit("/settings/clients", **{field[1].replace(" ", "_"): "600"})
        assert json.loads((home / "limits.json").read_text(encoding="utf-8")) == {client: 600}


def test_limits_are_set_checked_beside_their_fields_and_kept(tmp_path: Path) -> None:
    """What is wrong keeps what was typed, and nothing is set; an empty field is what is known."""
    home = tmp_path / "home"
    inbox = FolderInbox(home)
    inbox.end(inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z", client="my agent")))
    with Desking(home, "--lang", "en") as desk:
        wrong = desk.submit("/settings/clients", **{"call_my agent": "soon", "grace_my agent": "9"})
        page = html.unescape(wrong.text)
        assert wrong.status == 422
        assert 'value="soon"' in page
        assert 'aria-describedby="wrong-call-1"' in page
        assert "Type 1 to 604,800 seconds" in page
        assert not (home / "grace.json").exists()
        desk.submit("/settings/clients", **{"call_my agent": "600", "grace_my agent": "9"})
        assert json.loads((home / "limits.json").read_text(encoding="utf-8")) == {"my agent": 600}
        assert json.loads((home / "grace.json").read_text(encoding="utf-8")) == {"my agent": 9}
        desk.submit("/settings/clients", **{"call_my agent": "", "grace_my agent": "0"})
        assert json.loads((home / "limits.json").read_text(encoding="utf-8")) == {}
        assert json.loads((home / "grace.json").read_text(encoding="utf-8")) == {"my agent": 0}
