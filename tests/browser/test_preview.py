"""The preview of a tool's page: the host that it plays, and what a page cannot do."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest
from playwright.sync_api import FrameLocator, Page, Route, expect

from tests.browser.seats import Sitting, call, request, routed
from tests.support.waiting import until

pytestmark = pytest.mark.browser

URI: Final = "ui://weather/page"
TOOL: Final = {
    "name": "show_weather",
    "inputSchema": {"type": "object"},
    "_meta": {"ui": {"resourceUri": URI}},
}
RESULT: Final = {
    "content": [{"type": "text", "text": "21 degrees"}],
    "structuredContent": {"degrees": 21},
}
READ: Final = request("resources/read", {"uri": URI})


def answer(sitting: Sitting, line: str, result: dict[str, Any]) -> None:
    """Have the host ask, and answer it without a window."""
    before = {one["number"] for one in sitting.desk.get("/api/exchanges")["waiting"]}
    sitting.host.say(line)

    def young() -> list[dict[str, Any]]:
        waiting = sitting.desk.get("/api/exchanges")["waiting"]
        return [one for one in waiting if one["number"] not in before]

    waiting = until(young, "the request is there")
    path = f"/api/exchanges/{waiting[0]['session']}/{waiting[0]['number']}"
    text = json.dumps({"jsonrpc": "2.0", "id": 7, "result": result})
    assert sitting.desk.post(f"{path}/reply", {"text": text}).status == 200
    sitting.host.hear()


def previewed(sitting: Sitting) -> Page:
    """Have a tool with a page called, and open the request for the page."""
    answer(sitting, request("tools/list"), {"tools": [TOOL]})
    answer(sitting, call(tool="show_weather", city="Kyoto"), RESULT)
    return sitting.asked(READ)


def shown(page: Page, text: str | None = None, fault: str = "right") -> FrameLocator:
    """Show a page of this text.

    By the keyboard: the check of what was typed moves the button, away from under a mouse.
    """
    if text is not None:
        page.locator("#tab-form").click()
        page.locator('[data-pointer="/result/contents/0/text"]').fill(text)
    page.locator('[data-part="fault"]').select_option(fault)
    page.locator('[data-part="show"]').press("Enter")
    return page.frame_locator("app-preview iframe")


def messages(page: Page) -> list[str]:
    """List the messages: who, and the method."""
    rows = page.locator(".app-messages > li > p:first-child")
    return [
        one.replace("View → Host", ">").replace("Host → View", "<")
        for one in rows.all_inner_texts()
    ]


def until_messages(page: Page, expected: list[str]) -> None:
    """Wait until these are the messages of a page, and no other one."""

    def what() -> str:
        told = page.locator('[data-part="told"]').inner_text()
        frames = [one.url for one in page.frames]
        return f"{expected}: {messages(page)}, told {told!r}, in {frames}"

    until(lambda: messages(page) == expected, what)


def test_the_template_of_a_page_shows_the_result_of_the_last_call(sitting: Sitting) -> None:
    page = previewed(sitting)
    frame = shown(page)
    expect(frame.locator("pre")).to_contain_text('"degrees": 21')
    expected = [
        "> ui/initialize",
        "< response",
        "> ui/notifications/initialized",
        "< ui/notifications/tool-input",
        "< ui/notifications/tool-result",
        "> ui/notifications/size-changed",
    ]
    until_messages(page, expected)


WRONG: Final[dict[str, list[str]]] = {
    "right": ["tool-input", "tool-result"],
    "early": ["tool-result", "response", "initialized", "tool-input"],
    "no handshake": [],
    "no input": ["tool-result"],
    "no result": ["tool-input"],
    "twice": ["tool-input", "tool-result", "tool-result"],
    "cancelled": ["tool-input", "tool-cancelled"],
    "no size": ["tool-input", "tool-result"],
}
"""What the page hears after its first message, by what the host does wrong."""

HANDSHAKE: Final = """
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const heard = [];
addEventListener("message", ({ data }) => {
  heard.push(data.method ?? "response");
  if (data.id === 1) send({ method: "ui/notifications/initialized" });
  const params = { height: 777, width: 5 };
  if (data.id === 1) send({ method: "ui/notifications/size-changed", params });
  if (data.method === "ui/resource-teardown") send({ id: data.id, result: {} });
});
const appInfo = { name: "a", version: "1" };
const init = { appInfo, appCapabilities: {}, protocolVersion: "2026-01-26" };
send({ id: 1, method: "ui/initialize", params: init });
const whenCalled = (act) => addEventListener("message", ({ data }) => {
  if (data.method === "ui/notifications/tool-input") act();
});
"""


def scripted(*scripts: str) -> str:
    """Write a page of scripts."""
    inside = "".join(f"<script>{one}</script>" for one in scripts)
    return f"<!doctype html><html><head><title>a</title></head><body>{inside}</body></html>"


@pytest.mark.parametrize("fault", WRONG)
def test_the_host_does_wrong_what_was_chosen(sitting: Sitting, fault: str) -> None:
    page = previewed(sitting)
    shown(page, scripted(HANDSHAKE), fault)
    expected = ["> ui/initialize", "< response", "> ui/notifications/initialized"]
    after = ["< ui/notifications/" + one for one in WRONG[fault]]
    expected = [*expected, *after, "> ui/notifications/size-changed"]
    if fault == "no handshake":
        expected = expected[:1]
    if fault == "early":
        expected = [expected[0], after[0], *expected[1:3], after[3], expected[-1]]
    until_messages(page, expected)
    height = {"no size": "150", "no handshake": "150"}.get(fault, "777")
    expect(page.locator("app-preview iframe")).to_have_attribute("height", height)
    assert page.locator(".app-messages .problem").count() == 0


def test_a_page_is_shown_once_its_preview_listens(sitting: Sitting) -> None:
    """A click on Show before its script has come would be lost."""
    late: list[Route] = []
    routed(sitting.window.context, "**/apps/preview.js", late.append, once=True)
    page = previewed(sitting)
    show = page.locator('[data-part="show"]')
    expect(show).to_be_disabled()
    until(lambda: late or page.evaluate("null"), "its script was asked for")
    late[0].continue_()
    frame = shown(page, "<!doctype html><p>heard</p>", "early")
    expect(frame.locator("p")).to_have_text("heard")


def test_what_an_ended_page_had_said_ends_no_other_one(sitting: Sitting) -> None:
    """It may arrive when the next page is on its way."""
    page = previewed(sitting)
    page.locator("#tab-form").click()
    page.locator('[data-pointer="/result/contents/0/text"]').fill("<!doctype html><p>again")
    page.locator('[data-part="show"]').click(trial=True)
    page.evaluate("""() => {
      document.querySelector('[data-part="show"]').click();
      for (let at = 0; at < 300; at += 1) dispatchEvent(new MessageEvent("message", { data: at }));
    }""")
    frame = page.frame_locator("app-preview iframe")
    expect(frame.locator("p")).to_have_text("again")


MISTAKES: Final = {
    '"hello"': "This is not JSON-RPC 2.0",
    "null": "This is not JSON-RPC 2.0",
    "[]": "This is not JSON-RPC 2.0",
    '{ id: 9, method: "tools/call", params: { name: "a" } }': "This is not JSON-RPC 2.0",
    '{ id: 9, method: "ping" }': "This is not JSON-RPC 2.0",
    '{ jsonrpc: "2.0", id: 9, method: "ui/close" }': "MCP Apps does not define this method",
    '{ jsonrpc: "2.0", id: 9, method: "constructor" }': "MCP Apps does not define this method",
    '{ jsonrpc: "2.0", method: "tools/call", params: { name: "a" } }': "This is a request",
    '{ jsonrpc: "2.0", id: null, method: "ping" }': "This is a request",
    '{ jsonrpc: "2.0", id: 9, method: "tools/call", params: {} }': "params.name must be there",
    '{ jsonrpc: "2.0", id: 9, method: "ui/notifications/initialized" }': "must not have an id",
    '{ jsonrpc: "2.0", id: 9, method: "ui/open-link", params: { url: "https://a.example" } }': (
        "after ui/notifications/initialized"
    ),
    '{ jsonrpc: "2.0", method: "ui/notifications/initialized" }': "after the response to",
    '{ jsonrpc: "2.0", id: 9, result: {} }': "The host did not ask for this",
    '{ jsonrpc: "2.0", id: "teardown", result: {} }': "The host did not ask for this",
}


@pytest.mark.parametrize("message", MISTAKES)
def test_each_message_of_a_page_is_checked(sitting: Sitting, message: str) -> None:
    page = previewed(sitting)
    shown(page, scripted(f'parent.postMessage({message}, "*")'))
    expect(page.locator(".app-messages .problem")).to_contain_text(MISTAKES[message])
    if MISTAKES[message] in ("This is not JSON-RPC 2.0", "This is a request"):
        assert len(messages(page)) == 1  # no response
        assert page.locator(".app-messages textarea").count() == 0


def test_a_person_answers_what_the_page_calls(sitting: Sitting) -> None:
    """Nothing of it reaches the host of the conversation."""
    page = previewed(sitting)
    asks = """
    whenCalled(() => send({ id: 2, method: "tools/call", params: { name: "more" } }));
    addEventListener("message", ({ data }) => {
      if (data.id === 2) document.body.append(data.result?.content[0].text ?? data.error.message);
    });"""
    for act, said in (("Send", "rain tomorrow"), ("Reject", "A person rejected this call")):
        frame = shown(page, scripted(HANDSHAKE, asks))
        row = page.locator(".app-messages > li", has_text="tools/call")
        row.locator("textarea").fill("no JSON")
        row.get_by_role("button", name="Send").click()
        expect(row.locator("textarea")).to_have_attribute("aria-invalid", "true")
        row.locator("textarea").fill('{"content":[{"type":"text","text":"rain tomorrow"}]}')
        row.get_by_role("button", name=act).click()
        expect(frame.locator("body")).to_contain_text(said)
        expect(row.locator("button")).to_have_count(0)
    assert len(sitting.desk.get("/api/exchanges")["waiting"]) >= 1
    page.locator('[data-part="remove"]').click()
    expect(page.locator('[data-part="told"]')).to_contain_text("ready to go")
    expect(page.locator("app-preview iframe")).to_have_count(0)


LINKS: Final = {
    "https://a.example/?q=1#x": "https://a.example/?q=1#x",
    "http://b.example": "http://b.example/",
    "https://xn--a@c.example": None,
    "javascript:alert(1)": None,
    "data:text/html,a": None,
    "file:///etc/passwd": None,
    "/settings": None,
    "": None,
}


@pytest.mark.parametrize("url", LINKS)
def test_a_link_of_a_page_is_shown_whole_and_opened_by_a_click(sitting: Sitting, url: str) -> None:
    """Only what can be a page of the web."""
    page = previewed(sitting)
    opened: list[str] = []

    def stop(route: Route) -> None:
        opened.append(route.request.url)
        route.abort()

    let_pass = routed(page.context, "**/*.example/**", stop)
    asks = f"""
    const params = {{ url: {json.dumps(url)} }};
    whenCalled(() => send({{ id: 2, method: "ui/open-link", params }}));
    addEventListener("message", ({{ data }}) => {{
      if (data.id === 2) document.body.append(data.result ? "opened" : "refused");
    }});"""
    frame = shown(page, scripted(HANDSHAKE, asks))
    if LINKS[url] is None:
        expect(frame.locator("body")).to_contain_text("refused")
        assert page.locator(".app-messages a").count() == 0
    else:
        link = page.locator(".app-messages a")
        expect(link).to_have_text(str(LINKS[url]))
        assert link.get_attribute("rel") == "noopener noreferrer"
        assert opened == []
        with page.context.expect_page() as popup:
            link.click()
        expect(frame.locator("body")).to_contain_text("opened")
        popup.value.close()
    let_pass()


ENDS: Final = {
    "many": (
        'for (let at = 0; at < 5000; at += 1) parent.postMessage({ jsonrpc: "2.0" }, "*")',
        "more than 200 messages",
    ),
    "for ever": ('setInterval(() => parent.postMessage(1, "*"), 0)', "more than 200 messages"),
    "long": ('parent.postMessage("x".repeat(3_000_000), "*")', "longer than 100000"),
    "one array a million times": (
        'let a = ["x"]; for (let i = 0; i < 20; i += 1) a = [a, a]; parent.postMessage(a, "*")',
        "longer than 100000",
    ),
    "one text in many objects": (
        'parent.postMessage(Array(9000).fill(new String("x".repeat(1e6))), "*")',
        "is not JSON",
    ),
    "gaps": ('parent.postMessage(Array(2 ** 25), "*")', "longer than 100000"),
    "a buffer": ('parent.postMessage(new Uint8Array(1e6), "*")', "is not JSON"),
    "frames in it": (
        """const one = document.createElement("iframe");
        const posts = "setInterval(() => top.postMessage(1, '*'), 0)";
        one.srcdoc = `<script>for (let i = 0; i < 9; i += 1) ${posts}</scr` + "ipt>";
        document.body.append(one)""",
        "more than 200 messages",
    ),
    "circle": ('const a = {}; a.a = a; parent.postMessage(a, "*")', "is not JSON"),
    "big": ('parent.postMessage(5n, "*")', "is not JSON"),
    "again": ("location.reload()", "went to another address"),
    "its own address": ("location.href = location.href + '?a'", "went to another address"),
    "ready": ('parent.postMessage("ready", "*")', "went to another address"),
}
"""Scripts of a page that end its preview, and what is said."""


@pytest.mark.parametrize("name", ENDS)
def test_a_page_that_does_too_much_ends(sitting: Sitting, name: str) -> None:
    """The window stays usable, and the page can be shown again."""
    page = previewed(sitting)
    script, said = ENDS[name]
    shown(page, scripted(f"setTimeout(() => {{ {script} }}, 50)"))
    expect(page.locator('[data-part="told"]')).to_contain_text(said)
    expect(page.locator("app-preview iframe")).to_have_count(0)
    assert page.locator(".app-messages > li").count() <= 200
    expect(shown(page, "<!doctype html><p>again").locator("p")).to_have_text("again")
    expect(page.locator('[data-part="told"]')).to_be_hidden()


SDK: Final = Path(__file__).parents[1] / "clients/node/node_modules/@modelcontextprotocol/ext-apps"


def test_a_page_of_the_official_library_talks_to_the_preview(sitting: Sitting) -> None:
    """It connects, hears of the call, calls a tool, and takes its leave."""
    library = SDK / "dist" / "src" / "app-with-deps.js"
    if not library.exists():
        pytest.skip("@modelcontextprotocol/ext-apps is not installed: make node")
    code = library.read_text("utf-8")
    exports = re.search(r"export\s*\{([^}]*)\}\s*;?\s*$", code)
    assert exports is not None
    pairs = [one.split(" as ") for one in exports[1].split(",") if " as " in one]
    names = {name.strip(): own.strip() for own, name in pairs}
    code = code[: exports.start()].replace("</script", "<\\/script")
    uses = """
    const app = new App({ name: "library", version: "1" }, {});
    const note = (text) => document.body.append(text, " ");
    app.ontoolinput = (params) => note("input " + params.arguments.city);
    app.ontoolresult = (params) => note("result " + params.structuredContent.degrees);
    app.onteardown = async () => ({});
    await app.connect();
    note("host " + app.getHostVersion().name);
    note("called " + (await app.callServerTool({ name: "more", arguments: {} })).content[0].text);
    """
    script = f"{code}\nconst App = {names['App']};\n{uses}"
    page = previewed(sitting)
    text = f"<!doctype html><title>a</title><body><script type=module>{script}</script></body>"
    frame = shown(page, text)
    row = page.locator(".app-messages > li", has_text="tools/call")
    row.locator("textarea").fill('{"content":[{"type":"text","text":"rain"}]}')
    row.get_by_role("button", name="Send").click()
    for said in ("input Kyoto", "result 21", "host humanmcp", "called rain"):
        expect(frame.locator("body")).to_contain_text(said)
    assert page.locator(".app-messages .problem").count() == 0
    page.locator('[data-part="remove"]').click()
    expect(page.locator('[data-part="told"]')).to_contain_text("ready to go")


def test_the_page_follows_what_is_typed_once_it_is_shown(sitting: Sitting) -> None:
    """Before somebody asked for it, nothing is shown."""
    page = previewed(sitting)
    page.locator("#tab-form").click()
    area = page.locator('[data-pointer="/result/contents/0/text"]')
    area.fill("<!doctype html><p>one</p>")
    assert page.locator("app-preview iframe").count() == 0
    frame = shown(page)
    expect(frame.locator("p")).to_have_text("one")
    area.fill("<!doctype html><p>two</p>")
    expect(frame.locator("p")).to_have_text("two")
    page.locator("app-preview summary").click()
    page.locator('[data-part="result"]').fill("[]")
    expect(page.locator('[data-part="told"]')).to_contain_text("must be JSON objects")


def test_no_way_leads_out_of_the_page(sitting: Sitting) -> None:
    """Neither to the desk nor to another server; nor does the page learn the login path.

    WebRTC is not tried: browsers have no rule against it.
    """
    reached: list[str] = []

    class Heard(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reached.append(self.path)
            self.send_response(200)
            self.end_headers()

        do_POST = do_GET  # noqa: N815 - the standard library's name

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    page = previewed(sitting)
    before = len(sitting.window.troubles)
    with ThreadingHTTPServer(("127.0.0.1", 0), Heard) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        ways = Path(__file__).with_name("ways_out.js").read_text("utf-8")
        ways = ways.replace("PORT", str(server.server_port))
        address = page.url
        shown(page, scripted(HANDSHAKE, ways))
        rows = page.locator(".app-messages .wire")
        expect(rows.filter(has_text="leaving")).to_have_count(1)
        seen = json.loads(rows.filter(has_text="reached").inner_text())["params"]["data"]
        # The policy of the desk stops the last way: the page goes elsewhere itself.
        troubles = sitting.window.troubles
        rule = "frame-src 'self'"
        until(lambda: page.evaluate("1") and rule in "".join(troubles), "it was stopped")
        server.shutdown()
    heard = sitting.window.troubles[before:]
    del sitting.window.troubles[before:]
    assert reached == []
    assert page.url == address
    got = {name: one for name, one in seen["reached"].items() if one not in ("undefined", "null")}
    assert got == {
        **dict.fromkeys(("cookie", "storage", "parent", "desk", "top"), "SecurityError"),
        "beacon": "true",  # it was taken, and not sent
        **{name: got[name] for name in ("worker", "socket", "events")},  # objects, of nothing
    }
    login_path = sitting.window.login_path.strip("/")
    assert login_path
    assert login_path not in json.dumps(seen)
    assert seen["referrer"] == ""
    assert all("Content Security Policy" in one for one in heard)
