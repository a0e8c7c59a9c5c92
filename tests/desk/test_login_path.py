"""The login path: the addresses of a login session, and that nothing opens it from elsewhere."""

import re
from typing import Any

import pytest

from humanmcp.desk.login import (
    linked,
    login_of,
    parts_of,
    within,
    without_login_path,
)
from tests.support.desk_process import FORM, JSON, Desking
from tests.support.serve_http import Got
from tests.support.serve_process import Serving
from tests.support.waiting import until

LOGIN_PATH = "/~0123456789abcdefABCDEF"


def scope(path: str) -> dict[str, Any]:
    """Return the scope of a request for a path."""
    return {"type": "http", "method": "GET", "path": path, "raw_path": path.encode()}


@pytest.mark.parametrize(
    ("path", "inner"),
    [
        (f"{LOGIN_PATH}/m/a/1", "/m/a/1"),
        (f"{LOGIN_PATH}/", "/"),
        (LOGIN_PATH, "/"),
        (f"{LOGIN_PATH}//evil", "//evil"),  # which is no target then
        ("/~short/m", "/~short/m"),
        ("/m/~0123456789abcdef0", "/m/~0123456789abcdef0"),
        ("/%7E0123456789abcdef/m", "/%7E0123456789abcdef/m"),
    ],
)
def test_the_login_path_is_taken_off_before_anything_is_judged(path: str, inner: str) -> None:
    """What stands behind it is checked as any path is."""
    found = without_login_path(scope(path))
    assert (found["path"], found["raw_path"]) == (inner, inner.encode())


def test_links_of_a_page_have_its_login_path() -> None:
    """Links and forms of the page; not its files, other sites or what a person wrote."""
    html = '<p href="/m/a"><form action="/m"><a href="/static/x"><a href="https://x/"><a href="//">'
    here = without_login_path(scope(f"{LOGIN_PATH}/"))
    assert linked(html, here) == html.replace('"/m', f'"{LOGIN_PATH}/m')
    assert linked(html, scope("/")) == html
    assert linked("href=&#34;/m", here) == "href=&#34;/m"


def test_an_address_gets_one_login_path() -> None:
    """A new login leads to its own path, below whichever it was made."""
    assert within("/m", LOGIN_PATH) == f"{LOGIN_PATH}/m"
    assert within("/m", "") == "/m"
    for other in ("/~other/", "//evil", "https://x/", ""):
        assert within(other, LOGIN_PATH) == other


def test_a_login_session_has_two_secrets() -> None:
    """One of them alone names none."""
    assert parts_of(login_of("a", "b")) == ("a", "b")
    assert login_of("a", "") == login_of("", "b") == ""


def own(desking: Desking) -> dict[str, str]:
    """Return what a browser says of a request of the desk's own page."""
    return {"Origin": f"http://127.0.0.1:{desking.port}", "Sec-Fetch-Site": "same-origin"}


def attempt(desking: Desking, method: str, path: str, headers: dict[str, str]) -> Got:
    """Ask for a path, with an empty object where something is sent."""
    body = b"{}" if method == "POST" else None
    return desking.ask(method, path, body=body, headers={**JSON, **own(desking), **headers})


def test_a_cookie_without_its_path_opens_nothing(desking: Desking) -> None:
    """It is not read by it, not answered, no key is minted; another path is none either."""
    cookie = desking.cookie()
    assert attempt(desking, "GET", desking.in_login("/api/state"), cookie).status == 200
    for start in ("", LOGIN_PATH):
        for method, path in (
            ("GET", "/"),
            ("GET", "/api/exchanges"),
            ("GET", "/api/events"),
            ("POST", "/api/exchanges/a/1/reply"),
            ("POST", "/api/login-key"),
        ):
            assert attempt(desking, method, start + path, cookie).status == 401, path


def test_a_login_path_without_its_cookie_opens_nothing(desking: Desking) -> None:
    """An address that was seen over somebody's shoulder is only half of what it takes."""
    cookie = desking.cookie()
    first = desking.login_path
    assert attempt(desking, "GET", f"{first}/", {}).status == 401
    desking.cookie()
    assert attempt(desking, "GET", f"{desking.login_path}/", cookie).status == 401
    assert attempt(desking, "GET", f"{first}/", cookie).status == 200


def test_a_login_session_makes_no_keys(desking: Desking) -> None:
    """Nothing that it could hand out would outlive its end; a script may make them."""
    cookie = desking.cookie()
    refused = attempt(desking, "POST", desking.in_login("/api/login-key"), cookie)
    assert refused.status == 403
    assert "humanmcp desk" in refused.json["detail"]
    assert desking.post("/api/login-key", {}).status == 200


def test_every_page_of_a_login_session_stays_below_its_path(desking: Desking) -> None:
    """Also in the parts of a page that are templates of their own, and where a form leads to."""
    line = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    with Serving(desking.home, "--by-hand") as host:
        host.say(line)
        one = until(lambda: desking.get("/api/exchanges")["waiting"], "it waits")[0]
        key = f"{one['session']}/{one['number']}"
        cookie = desking.cookie()
        for path in ("/", f"/m/{key}", "/history", "/present", "/connect", "/none", "/login"):
            html = attempt(desking, "GET", desking.in_login(path), cookie).text
            found = re.findall(r'\s(?:href|action|formaction)="(/[^"]*)', html)
            assert found
            assert [at for at in found if not at.startswith((desking.login_path, "/static/"))] == []
    chosen = desking.submit("/preferences", theme="dark", back="/history")
    assert (chosen.status, chosen.headers["location"]) == (303, "/history")


def test_the_code_leads_to_a_login_path_without_a_script(desking: Desking) -> None:
    """The form of the door sends the browser on to where its cookie is valid."""
    code = re.search(r"[A-Z2-9]{4}-[A-Z2-9]{4}", desking.out.read_text("utf-8"))
    assert code is not None
    answer = desking.ask(
        "POST",
        "/login",
        body=f"code={code[0]}".encode(),
        headers={**own(desking), **FORM},
    )
    assert answer.status == 303
    path = answer.headers["location"]
    assert f"Path={path.rstrip('/')};" in answer.headers["set-cookie"]
    cookie = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
    assert attempt(desking, "GET", path, cookie).status == 200


def test_logging_out_takes_the_cookie_back(desking: Desking) -> None:
    """It is deleted where it was set."""
    cookie = desking.cookie()
    form = {**own(desking), **FORM, **cookie}
    answer = desking.ask("POST", desking.in_login("/logout"), headers=form)
    assert answer.headers["location"].endswith("/login")
    assert f"Path={desking.login_path};" in answer.headers["set-cookie"]
