"""The drafts of forms: each place where a person types has one, until the form is taken."""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import quote, urlencode

import pytest

from humanmcp import extensions
from humanmcp.desk.app import _forget_draft
from humanmcp.desk.desk import Desk
from humanmcp.desk.rights import Who
from humanmcp.inbox import form_drafts
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.form_drafts import FormDraft, FormDrafts
from tests.browser.seats import INITIALIZE, call
from tests.desk.seated import Seated
from tests.support.desk_process import Desking
from tests.support.routes import TEMPLATES
from tests.support.serve_process import Serving
from tests.support.waiting import until

NOT_KEPT: Final = {
    ("history/history.html", "q"): "a search, which is in the address",
    ("settings/settings.html", "q"): "likewise",
    ("inbox/list.html", "find"): "likewise",
    ("inbox/list.html", "q"): "likewise",
    ("history/history.html", "day"): "a date",
    ("history/line.html", "note"): "a note of one line",
    ("classroom/room/join.html", "code"): "a code, which is used once",
    ("devices/login.html", "code"): "likewise",
    ("classroom/room/join.html", "name"): "a name of at most 40 characters",
    ("base.html", "name"): "likewise",
    ("devices/devices.html", "name"): "likewise",
    ("settings/settings.html", "{{ what }} {{ one.field }}"): "a number of seconds",
    ("classroom/room/room.html", "minutes"): "a number of minutes",
    ("classroom/room/room.html", "hint"): "a sentence of at most 400 characters",
    (
        "apps/preview.html",
        '<textarea class="json" data-part="arguments" spellcheck="false">',
    ): "an example that the page of a tool gets; nothing is sent",
    (
        "apps/preview.html",
        '<textarea class="json" data-part="result" spellcheck="false">',
    ): "likewise",
    (
        "inbox/message.html",
        "text",
    ): "a page without scripts; the composer replaces it",
    (
        "classroom/lite_check.html",
        "text",
    ): "a text to check: the page shows it again, and nothing is sent",
}
"""The fields whose text is not kept, each with the reason."""
OF_EXTENSIONS: Final = ("apps", "classroom")
"""The extensions of which fields are in this list."""
COMPOSER: Final = "inbox/composer.html"
SHARED: Final = {"parts.html", "fields.html"}
"""What has fields and no form: who includes them has one."""
_FIELD: Final = re.compile(r"<(?:textarea|input)\b[^>]*>")
_SHORT: Final = re.compile(r'type="(?:hidden|checkbox|radio|file|\{\{)')
_FORM: Final = re.compile(r"<form\b(?:\{\{.*?\}\}|[^>])*>|</form>")


def fields() -> list[tuple[str, str, str]]:
    """List each text field of each template: the template, the name, and the form that it is in."""
    found = []
    for file in TEMPLATES:
        text, form = file.read_text(encoding="utf-8"), ""
        template = file.as_posix().rpartition("/templates/")[2]
        for part in re.finditer(f"{_FORM.pattern}|{_FIELD.pattern}", text):
            if part[0].startswith(("<form", "</form")):
                form = part[0]
            elif not _SHORT.search(part[0]):
                name = re.search(r'\bname="([^"]*)"', part[0])
                found.append((template, name[1] if name else part[0], form))
    return found


def test_no_field_ends_without_a_word_but_those_for_a_code() -> None:
    """What is too long stands there, and the page says so beside it (`fits` in `parts.html`)."""
    ends = {
        one
        for file in TEMPLATES
        for one in _FIELD.findall(file.read_text(encoding="utf-8"))
        if "maxlength" in one and 'name="code"' not in one
    }
    assert ends == set()
    for file in TEMPLATES:
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"fits\((\d+)\)", text) == re.findall(r"too_long\((\d+), t\)", text), file


def test_every_field_of_every_page_is_kept_or_has_its_reason() -> None:
    """A new field is not forgotten: its form has a draft, or it stands in the list above."""
    open_fields = {
        (template, name)
        for template, name, form in fields()
        if "drafted(" not in form and template not in {COMPOSER, *SHARED}
    }
    absent = {*OF_EXTENSIONS} - {one.name for one in extensions.installed()}
    assert open_fields == {one for one in NOT_KEPT if one[0].split("/")[0] not in absent}


def test_shared_fields_are_in_forms_that_are_kept() -> None:
    """The rows of a schema, and the fields of a request."""
    users = {
        file.as_posix().rpartition("/templates/")[2]
        for file in TEMPLATES
        if re.search(r"(?:schema_rows?|field_rows)\(", file.read_text(encoding="utf-8"))
    }
    kept = {template for template, _, form in fields() if "drafted(" in form}
    assert "send/say.html" in users
    assert users - SHARED <= kept


def sent(desk: Desking, path: str, key: str, **fields: str) -> dict[str, str]:
    """Send a form as the page's script does, and return the headers of the response."""
    own, cookie = f"http://127.0.0.1:{desk.port}", desk.cookie()
    answer = desk.ask(
        "POST",
        desk.in_login(path),
        body=urlencode(fields).encode(),
        headers={
            **cookie,
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": own,
            "Sec-Fetch-Site": "same-origin",
            "Draft": quote(key),
        },
    )
    assert answer.status in {200, 422}
    return dict(answer.headers)


@pytest.fixture
def seated(tmp_path: Path) -> Iterator[Seated]:
    """Sit down at a desk."""
    home = tmp_path / "home"
    with Desking(home, "--lang", "en") as desk:
        yield Seated(home, desk)


@pytest.mark.extension("books")
def test_the_draft_of_a_form_ends_when_the_desk_has_taken_the_form(seated: Seated) -> None:
    """Not before: what is refused is kept, and the page of the form has it."""
    desk, drafts = seated.desk, FormDrafts(seated.desk.home)
    key = "book lists"
    body = {"fields": {"lists": "no JSON"}, "words": "no JSON"}
    assert desk.post(f"/api/drafts?{urlencode({'key': key})}", body).status == 200
    assert "location" not in sent(desk, "/book", key, act="be pasted", lists="no JSON")
    found = drafts.find(key)
    assert found is not None
    assert found.words == "no JSON"
    assert 'data-draft="book lists" data-kept="{&#34;fields&#34;' in desk.page("/book")
    tools = '{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}'
    headers = sent(desk, "/book", key, act="be pasted", lists=tools)
    assert headers["location"] == f"{desk.login_path}/server"
    assert headers["draft"] == "taken"
    assert drafts.find(key) is None
    desk.post(f"/api/drafts?{urlencode({'key': key})}", body)
    desk.post(f"/api/drafts?{urlencode({'key': key})}", {"fields": {}})
    assert drafts.find(key) is None


def test_a_draft_that_no_page_has_is_refused(seated: Seated) -> None:
    """A key or a text without an end fills no disk."""
    for key, text in (("k" * 1001, "a"), ("book lists", "a" * 4_000_001)):
        answer = seated.desk.post(
            f"/api/drafts?{urlencode({'key': key})}", {"fields": {"lists": text}}
        )
        assert answer.status == 413


def test_the_number_of_drafts_is_bounded_and_those_that_are_there_can_be_changed(
    seated: Seated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write has no end of names."""
    drafts = FormDrafts(seated.desk.home)
    monkeypatch.setattr(form_drafts, "MOST", 2)
    for key in ("a x", "b y"):
        assert not drafts.is_full_for(key)
        drafts.save(FormDraft(key, {"a": "b"}, "b", "now"))
    assert drafts.is_full_for("c z")
    assert not drafts.is_full_for("a x")


@pytest.mark.parametrize(("who", "is_theirs"), [(Who.DEVICE, False), (Who.OWNER, True)])
def test_a_taken_form_ends_no_draft_of_a_place_that_its_sender_does_not_see(
    seated: Seated, who: Who, *, is_theirs: bool
) -> None:
    """The key comes with the form, and may name any place."""
    desk: Any = SimpleNamespace(board=FakeBoard(), drafts=FormDrafts(seated.desk.home))
    desk.check_draft = partial(Desk.check_draft, desk)
    desk.drafts.save(FormDraft("other/1 deny", {"a": "b"}, "b", "now"))
    _forget_draft(desk, {"state": {"who": who}}, "other/1 deny")
    assert (desk.drafts.find("other/1 deny") is None) == is_theirs


class FakeBoard:
    """A board on which the visitor sees no session."""

    def session(self, name: str) -> None:
        """Refuse it."""
        raise UnknownItemError(name)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("delay", [0.0, 0.002, 0.005, 0.01, 0.02, 0.05])
def test_a_desk_that_is_killed_has_each_draft_that_it_called_saved(
    tmp_path: Path, delay: float
) -> None:
    """Whatever it was doing: the newest that a person saw as saved, or one that is newer."""
    home, saved = tmp_path / "home", [-1]
    with Desking(home) as desk:

        def type_on() -> None:
            with suppress(OSError, HTTPException):
                for number in range(10_000):
                    body = {"fields": {"lists": "x" * 5000}, "words": str(number)}
                    if desk.post("/api/drafts?key=book+lists", body).status == 200:
                        saved.append(number)

        typing = threading.Thread(target=type_on)
        typing.start()
        until(lambda: len(saved) > 3, "some are saved")
        time.sleep(delay)
        desk.kill()
        typing.join()
    found = FormDrafts(home).find("book lists")
    assert found is not None
    assert int(found.words) >= saved[-1]
    assert found.fields == {"lists": "x" * 5000}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("delay", [0.0, 0.01, 0.02, 0.04, 0.08, 0.2])
def test_words_of_a_denial_are_sent_or_kept_when_the_desk_is_killed(
    tmp_path: Path, delay: float
) -> None:
    """Between the press and the pipe: they are with the client, or still in the draft."""
    home = tmp_path / "home"
    with Desking(home) as desk, Serving(home, "--handshake", "book", "--approvals") as host:
        host.say(INITIALIZE)
        host.hear()
        host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        host.say(call("11", "approve", tool_name="Bash", input={"command": "ls"}))
        (waiting,) = until(lambda: desk.get("/api/exchanges")["waiting"], "it waits")
        place = f"{waiting['session']}/{waiting['number']}"
        body = {"fields": {"reason": "never"}, "words": "never"}
        assert desk.post(f"/api/drafts?{urlencode({'key': f'{place} deny'})}", body).status == 200
        page = desk.page(f"/m/{place}")
        shown = re.search(r'name="shown" value="(\w+)"', page)
        assert shown is not None

        def press() -> None:
            with suppress(OSError, HTTPException):
                sent(
                    desk, f"/m/{place}", f"{place} deny", act="deny", reason="never", shown=shown[1]
                )

        pressing = threading.Thread(target=press)
        pressing.start()
        time.sleep(delay)
        desk.kill()
        pressing.join()
        kept = FormDrafts(home).find(f"{place} deny")
        item = FolderInbox(home).item(Key(waiting["session"], waiting["number"]))
        if item.reply is not None or item.answer is not None:
            assert json.loads(json.loads(host.hear())["result"]["content"][0]["text"]) == {
                "behavior": "deny",
                "message": "never",
            }
        else:
            assert kept is not None
            assert kept.words == "never"
