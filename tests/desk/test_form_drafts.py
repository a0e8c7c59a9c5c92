"""The drafts of forms: each place where a person types has one, until the form is taken."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import pytest

from humanmcp.desk.presenters.rendering import web_folder
from humanmcp.inbox.form_drafts import FormDrafts
from tests.desk.desking import Desking
from tests.desk.seated import Seated

TEMPLATES: Final = web_folder() / "templates"
NOT_KEPT: Final = {
    ("history.html", "q"): "a search, which is in the address",
    ("settings.html", "q"): "likewise",
    ("list.html", "find"): "likewise",
    ("history.html", "day"): "a date",
    ("join.html", "code"): "a code, which is used once",
    ("login.html", "code"): "likewise",
    ("join.html", "name"): "a name of at most 40 characters",
    ("base.html", "name"): "likewise",
    ("devices.html", "name"): "likewise",
    ("settings.html", "{{ what }} {{ one.name }}"): "a number of seconds",
    ("room.html", "minutes"): "a number of minutes",
    ("message.html", "text"): "the plain form of a page without scripts; the composer replaces it",
}
"""The fields whose text is not kept, each with the reason."""
COMPOSER: Final = "composer.html"
_FIELD: Final = re.compile(r"<(?:textarea|input)\b[^>]*>")
_SHORT: Final = re.compile(r'type="(?:hidden|checkbox|radio|\{\{)')
_FORM: Final = re.compile(r"<form\b(?:\{\{.*?\}\}|[^>])*>|</form>")


def fields() -> list[tuple[str, str, str]]:
    """List each text field of each template: the template, the name, and the form that it is in."""
    found = []
    for file in sorted(TEMPLATES.glob("*.html")):
        text, form = file.read_text(encoding="utf-8"), ""
        for part in re.finditer(f"{_FORM.pattern}|{_FIELD.pattern}", text):
            if part[0].startswith(("<form", "</form")):
                form = part[0]
            elif not _SHORT.search(part[0]):
                name = re.search(r'\bname="([^"]*)"', part[0])
                found.append((file.name, name[1] if name else part[0], form))
    return found


def test_every_field_of_every_page_is_kept_or_has_its_reason() -> None:
    """A new field is not forgotten: its form has a draft, or it stands in the list above."""
    open_fields = {
        (template, name)
        for template, name, form in fields()
        if "drafted(" not in form and template not in {COMPOSER, "parts.html"}
    }
    assert open_fields == set(NOT_KEPT)


def test_the_rows_of_a_schema_are_in_forms_that_are_kept() -> None:
    """`parts.html` has fields and no form: who includes them has one."""
    users = {
        file.name
        for file in TEMPLATES.glob("*.html")
        if re.search(r"schema_rows?\(", file.read_text(encoding="utf-8"))
    }
    kept = {template for template, _, form in fields() if "drafted(" in form}
    assert users - {"parts.html"} <= kept


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
    assert 'data-draft="book lists" data-kept="{&quot;fields&quot;' in desk.page("/book")
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
