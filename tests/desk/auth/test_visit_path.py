"""Where a visit lives: its addresses, and that nothing opens it from elsewhere."""

import json
import re
from typing import Any

import pytest

from humanmcp.desk.auth.login import linked, parts_of, placed, visit_of, within
from tests.desk.desking import JSON, Desking
from tests.serving import Serving
from tests.serving_http import Got
from tests.waiting import until

PLACE = "0123456789abcdefABCDEF"


def scope(path: str) -> dict[str, Any]:
    """Return the scope of a request for a path."""
    return {"type": "http", "method": "GET", "path": path, "raw_path": path.encode()}


@pytest.mark.parametrize(
    ("path", "inner"),
    [
        (f"/~{PLACE}/m/a/1", "/m/a/1"),
        (f"/~{PLACE}/", "/"),
        (f"/~{PLACE}", "/"),
        (f"/~{PLACE}//evil", "//evil"),  # which is no target then
        ("/~short/m", "/~short/m"),
        ("/m/~0123456789abcdef0", "/m/~0123456789abcdef0"),
        ("/%7E0123456789abcdef/m", "/%7E0123456789abcdef/m"),
    ],
)
def test_the_place_is_taken_off_before_anything_is_judged(path: str, inner: str) -> None:
    """What stands behind it is checked as any path is."""
    found = placed(scope(path))
    assert (found["path"], found["raw_path"]) == (inner, inner.encode())


def test_pages_lead_on_in_their_place() -> None:
    """Links and forms of the page; not its files, other sites or what a person wrote."""
    html = '<p href="/m/a"><form action="/m"><a href="/static/x"><a href="https://x/"><a href="//">'
    here = placed(scope(f"/~{PLACE}/"))
    assert linked(html, here) == html.replace('"/m', f'"/~{PLACE}/m')
    assert linked(html, scope("/")) == html
    assert linked("href=&#34;/m", here) == "href=&#34;/m"


def test_addresses_are_put_into_a_place_once() -> None:
    """A login leads to its own place, whichever it was made in."""
    assert within("/m", PLACE) == f"/~{PLACE}/m"
    assert within("/m", "") == "/m"
    for other in ("/~other/", "//evil", "https://x/", ""):
        assert within(other, PLACE) == other


def test_a_visit_has_two_secrets() -> None:
    """One of them alone names none."""
    assert parts_of(visit_of("a", "b")) == ("a", "b")
    assert visit_of("a", "") == visit_of("", "b") == ""


def own(desking: Desking) -> dict[str, str]:
    """Return what a browser says of a request of the desk's own page."""
    return {"Origin": f"http://127.0.0.1:{desking.port}", "Sec-Fetch-Site": "same-origin"}


def attempt(desking: Desking, method: str, path: str, headers: dict[str, str]) -> Got:
    """Ask for a path, with an empty object where something is sent."""
    body = b"{}" if method == "POST" else None
    return desking.ask(method, path, body=body, headers={**JSON, **own(desking), **headers})


def test_a_cookie_without_its_place_opens_nothing(desking: Desking) -> None:
    """It is not read by it, not answered, no key is minted; another place is none either."""
    cookie = desking.cookie()
    assert attempt(desking, "GET", desking.placed("/api/state"), cookie).status == 200
    for start in ("", f"/~{PLACE}"):
        for method, path in (
            ("GET", "/"),
            ("GET", "/api/exchanges"),
            ("GET", "/api/events"),
            ("POST", "/api/exchanges/a/1/reply"),
            ("POST", "/api/login-key"),
        ):
            assert attempt(desking, method, start + path, cookie).status == 401, path


def test_a_place_without_its_cookie_opens_nothing(desking: Desking) -> None:
    """An address that was seen over somebody's shoulder is only half of what it takes."""
    cookie = desking.cookie()
    first = desking.place
    assert attempt(desking, "GET", f"{first}/", {}).status == 401
    desking.cookie()
    assert attempt(desking, "GET", f"{desking.place}/", cookie).status == 401
    assert attempt(desking, "GET", f"{first}/", cookie).status == 200


def test_a_visit_makes_no_keys(desking: Desking) -> None:
    """Nothing that it could hand out would outlive its end; a script may make them."""
    cookie = desking.cookie()
    refused = attempt(desking, "POST", desking.placed("/api/login-key"), cookie)
    assert refused.status == 403
    assert "humanmcp desk" in refused.json["detail"]
    assert desking.post("/api/login-key", {}).status == 200


def test_every_page_of_a_visit_stays_in_its_place(desking: Desking) -> None:
    """Also in the parts of a page that are templates of their own, and where a form leads to."""
    line = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    with Serving(desking.home, "--by-hand") as host:
        host.say(line)
        one = until(lambda: desking.get("/api/exchanges")["waiting"], "it waits")[0]
        key = f"{one['session']}/{one['number']}"
        cookie = desking.cookie()
        for path in ("/", f"/m/{key}", "/history", "/present", "/connect", "/none", "/login"):
            html = attempt(desking, "GET", desking.placed(path), cookie).text
            found = re.findall(r'\s(?:href|action|formaction)="(/[^"]*)', html)
            assert found
            assert [at for at in found if not at.startswith((desking.place, "/static/"))] == []
    chosen = desking.submit("/preferences", theme="dark", back="/history")
    assert (chosen.status, chosen.headers["location"]) == (303, "/history")


def test_the_code_leads_to_a_place_without_a_script(desking: Desking) -> None:
    """The form of the door sends the browser on to where its cookie is valid."""
    code = re.search(r"[A-Z2-9]{4}-[A-Z2-9]{4}", desking.out.read_text("utf-8"))
    assert code is not None
    answer = desking.ask(
        "POST",
        "/login",
        body=f"code={code[0]}".encode(),
        headers={**own(desking), "Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.status == 303
    path = answer.headers["location"]
    assert f"Path={path.rstrip('/')};" in answer.headers["set-cookie"]
    cookie = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
    assert attempt(desking, "GET", path, cookie).status == 200


def test_logging_out_takes_the_cookie_back(desking: Desking) -> None:
    """It is deleted where it was set."""
    cookie = desking.cookie()
    answer = attempt(desking, "POST", desking.placed("/api/logout"), cookie)
    assert json.loads(answer.body) == {"in": False}
    assert f"Path={desking.place};" in answer.headers["set-cookie"]
