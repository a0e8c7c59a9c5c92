"""The page of a step, and of the session: what a person sees, and what the buttons do."""

import html
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.inbox.contract import Item, Role
from humanmcp.inbox.folder import FolderInbox
from tests.support.desk_process import Desking
from tests.support.serve_http import ServingHttp
from tests.support.signing_in import SigningIn, consents, order, steps_of
from tests.support.waiting import until


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the folder of an inbox."""
    return tmp_path / "home"


@pytest.fixture
def client(home: Path) -> Iterator[SigningIn]:
    """Run an authority. Returns a client of it."""
    with ServingHttp(home, "--oauth") as serving:
        yield SigningIn(serving.port)


@pytest.fixture(params=["en", "ja"])
def desk(home: Path, client: SigningIn, request: pytest.FixtureRequest) -> Iterator[Desking]:
    """Run the desk of the same inbox."""
    del client
    with Desking(home, "--lang", request.param) as one:
        yield one


def consent(home: Path) -> Item:
    """Return the consent that waits."""
    (found,) = until(lambda: consents(home), "a consent")
    return found


def test_the_card_of_a_consent_says_who_what_and_where_and_its_button_allows(
    home: Path, client: SigningIn, desk: Desking
) -> None:
    """The host of the redirect, the sentences of the version, and no secret."""
    client.register(client_name="<b>Client</b>")
    opened = client.open()
    item = consent(home)
    place = f"{item.key.session}/{item.key.number}"
    page = desk.page(f"/m/{place}")
    for shown in ("<b>Client</b>", "127.0.0.1", "code_challenge", "validate exact redirect URIs"):
        assert shown in html.unescape(page)
    assert "<b>Client</b>" not in page
    assert client.secrets[1] not in page
    assert "--as-is" not in page
    got = desk.submit(f"/authority/{place}", act="ready allow", shown="0" * 64)
    assert got.status == 303
    assert consents(home) == [item]  # another request was shown
    digest = page.partition('name="shown" value="')[2].partition('"')[0]
    desk.submit(f"/authority/{place}", act="ready allow", shown=digest)
    assert client.exchange(opened.parameters()["code"]).status == 200
    assert "code={code}" in html.unescape(desk.page(f"/m/{place}"))


def test_a_wrong_answer_is_explained_before_it_is_sent(
    home: Path, client: SigningIn, desk: Desking
) -> None:
    """It stays with its problems, and *Send anyway* sends it."""
    order(home, "hand token")
    client.register()
    opened = client.open()
    item = consent(home)
    place = f"{item.key.session}/{item.key.number}"
    wrong = "HTTP/1.1 302 Found\nlocation: http://127.0.0.1:3999/cb?code={code}&state=other"
    desk.submit(f"/authority/{place}", act="send", text=wrong)
    page = html.unescape(desk.page(f"/m/{place}"))
    assert "state=other" in page
    assert "{state}" in page
    assert not opened.is_answered
    desk.submit(f"/authority/{place}", act="anyway", text=wrong)
    assert opened.parameters()["state"] == "other"


def test_the_page_of_the_session_orders_what_comes_next(
    home: Path, client: SigningIn, desk: Desking
) -> None:
    """A mistake in one click; the history names it."""
    (facts,) = [one for one in FolderInbox(home).sessions() if one.role is Role.ENDPOINT]
    name = facts.name
    cookie = desk.cookie()
    menu = desk.ask("GET", desk.in_login("/authority"), headers=cookie)
    assert menu.headers["location"].endswith(f"/authority/{name}")
    page = desk.page(f"/authority/{name}")
    assert 'value="mistake issuer-slash"' in page
    assert 'value="mistake refused"' not in page
    desk.submit(f"/authority/{name}", act="mistake issuer-slash")
    path = "/.well-known/oauth-authorization-server/as"
    assert client.ask("GET", path).json["issuer"].endswith("/as/")
    history = desk.page(f"/history?session={name}")
    assert "issuer-slash" in history
    assert "/as/authorize" not in history
    line = steps_of(home)[-1]
    assert "issuer" in desk.page(f"/line/{name}/{line.seq}")
