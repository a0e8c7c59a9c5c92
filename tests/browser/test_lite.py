"""The page without a server, from a server of static files that is gone after the first visit."""

import functools
import http.server
import io
import json
import lzma
import re
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    FrameLocator,
    Page,
    Playwright,
    Request,
    expect,
)

from editor.build import find_npm
from tests.browser import chromium, firefox
from tests.browser.seats import OPTIONS, PHONE
from tests.desk.history.test_opening import opened
from tests.support.desk_process import Desking
from tests.support.inbox_folder import Shell
from tests.support.waiting import PATIENCE, until
from tools import lite

# Python starts several times in a test, in seconds on a machine that does nothing else.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("lite"), pytest.mark.timeout(600)]
BOOTS_WITHIN = 6 * PATIENCE * 1000
MOST_BYTES = 9_000_000


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def __init__(self, site: "Site", *given: Any) -> None:  # noqa: ANN401 - as its server calls it
        """Serve what the site has now."""
        self._site = site
        super().__init__(*given, directory=str(site.folder))

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Send a file, or the half of it."""
        if self._site.stalled and self.path.endswith(self._site.stalled):
            self._site.waits = True
            self._site.opened.wait(PATIENCE)
        if not self._site.cut or not self.path.endswith(self._site.cut):
            super().do_GET()
            return
        content = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])


class Site:
    """A server of static files below a path, as a project's pages have."""

    def __init__(self, folder: Path) -> None:
        """Serve the folder."""
        self.folder, self.cut, self.stalled = folder, "", ""
        """`cut` and `stalled`: the end of a name. The network fails in it, or says nothing."""
        self.waits, self.opened = False, threading.Event()
        """Whether somebody waits for the stalled file, and what lets it go on."""
        serve = functools.partial(Files, self)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.address = f"{self.origin}/try/"

    def go_on(self) -> None:
        """Send the file for which somebody waits."""
        self.opened.set()

    def close(self) -> None:
        """Cut the network."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the page once."""
    if not lite.libraries().exists() or find_npm() is None:
        pytest.skip("Python for the browser is not here: run `make test`")
    made = tmp_path_factory.mktemp("site")
    lite.build(made / "try")
    return made


@pytest.fixture
def site(folder: Path) -> Iterator[Site]:
    """Serve it."""
    serving = Site(folder)
    yield serving
    serving.close()


@pytest.fixture
def person(browser: Browser, site: Site) -> Iterator[Callable[..., BrowserContext]]:
    """Open a browser of one person; a script that fails, or asks another server, fails the test."""
    opened: list[BrowserContext] = []
    troubles: list[str] = []
    requests: list[Request] = []

    def begin(**options: object) -> BrowserContext:
        context = browser.new_context(**{**OPTIONS, **options})
        context.set_default_timeout(PATIENCE * 1000)
        context.on("weberror", lambda one: troubles.append(str(one.error)))
        context.on("request", lambda one: requests.append(one))  # noqa: PLW0108 - it takes no built-in
        opened.append(context)
        return context

    yield begin
    here = ("data:", "about:", site.address)
    sent = [one.url for one in requests if one.failure != "csp"]
    for context in opened:
        context.close()
    assert troubles + [one for one in sent if not one.startswith(here)] == []


def shown(page: Page) -> FrameLocator:
    """Wait until the page is there, and return it."""
    inside = page.frame_locator("#page")
    expect(inside.locator("#main")).to_be_visible(timeout=BOOTS_WITHIN)
    return inside


def send(page: Page, inside: FrameLocator, *texts: str) -> None:
    """Type answers, the first without any other, and send them by the keys."""
    for text in texts or ("Sunny.",):
        expect(inside.locator("#sentence")).to_have_value("")
        expect(inside.locator("#sentence")).to_be_focused()
        page.keyboard.insert_text(text)
        page.keyboard.press("Control+Enter")


def test_the_first_lesson_is_taken_by_keys_without_a_network(
    site: Site, person: Callable[..., BrowserContext], shell: Shell, tmp_path: Path
) -> None:
    """After the first visit: with a reload in the middle, a second tab, and a file to hand in."""
    context = person()
    page = context.new_page()
    page.goto(site.address)
    inside = shown(page)
    site.close()
    expect(inside.locator(".lesson")).to_contain_text("Step 1 of 3")
    send(page, inside)
    expect(inside.locator(".lesson")).to_contain_text("Step 2 of 3")
    inside.locator("#sentence").fill("Too far away.")
    inside.get_by_role("tab", name="JSON").click()
    expect(inside.get_by_text("No problems.")).to_be_visible()
    page.keyboard.press("Control+End")
    page.keyboard.type("x")
    expect(inside.locator("#saved-at")).to_have_text("Draft saved")
    page.reload()
    inside = shown(page)
    expect(inside.locator(".lesson")).to_contain_text("Step 2 of 3")
    second = context.new_page()
    second.goto(site.address)
    expect(shown(second).locator(".lesson")).to_contain_text("Step 2 of 3")
    page.bring_to_front()
    expect(inside.get_by_text("No problems.")).to_have_count(0)
    page.keyboard.press("Control+End")
    page.keyboard.press("Backspace")
    expect(inside.get_by_text("No problems.")).to_be_visible()
    page.keyboard.press("Control+Enter")
    send(page, inside, "5")
    expect(inside.locator(".motto")).to_have_text("You were the MCP server.")
    page.close()
    inside = shown(second)
    inside.get_by_role("link", name="Inbox").click(timeout=BOOTS_WITHIN)
    over = "You were the MCP server."
    expect(inside.locator(".motto")).to_have_text(over, timeout=BOOTS_WITHIN)
    handed_in = tmp_path / "lesson.jsonl"
    hand_in(second, handed_in)
    for words, expected in (
        (("export", str(handed_in), "--format", "html"), "humanmcp demo host"),
        (("check", str(handed_in)), "with no errors and no warnings"),
    ):
        ran = shell(*words)
        assert ran.status == 0, ran
        assert expected in ran.out + ran.err
    with Desking(tmp_path / "teacher") as desk:
        assert opened(desk, handed_in.read_text(encoding="utf-8"))["session"]
    forget(second)
    expect(shown(second).locator(".lesson")).to_contain_text("Step 1 of 3")


def hand_in(page: Page, file: Path) -> None:
    """Export the session as its complete transcript, as a learner does."""
    inside = shown(page)
    inside.get_by_role("link", name="Lessons").click()
    expect(inside.get_by_role("heading", name="Your work")).to_be_visible()
    inside.get_by_role("link", name="Export").click()
    inside.get_by_role("radio", name="Transcript").check()
    with page.expect_download() as download:
        inside.get_by_role("button", name="Save file").click()
    download.value.save_as(file)


def forget(page: Page) -> None:
    """Forget everything, as a person does."""
    inside = shown(page)
    inside.get_by_role("link", name="Lessons").click()
    inside.get_by_role("link", name="Forget everything").click()
    page.get_by_role("button", name="Forget everything").click()
    expect(page).to_have_url(re.compile(r"/try/$"))


def test_a_link_names_a_lesson_or_a_file_beside_the_page(
    site: Site, person: Callable[..., BrowserContext]
) -> None:
    """What was begun goes on when the link is opened again; a wrong name is told."""
    own = Path("samples/lessons/02-picked-tool.toml").read_text("utf-8")
    lunch = site.folder / "try" / "lunch.toml"
    lunch.write_text(own.replace("A tool that the model chooses", "Lunch"), encoding="utf-8")
    page = person().new_page()
    page.goto(f"{site.address}?lesson=recover")
    inside = shown(page)
    expect(inside.locator(".lesson")).to_contain_text("Step 1 of 4")
    expect(page).to_have_url(site.address)
    page.goto(f"{site.address}?lesson=lunch.toml")
    inside = shown(page)
    expect(inside.locator(".lesson")).to_contain_text("Step 1 of 3")
    page.goto(f"{site.address}?lesson=nonsense")
    inside = shown(page)
    expect(inside.get_by_role("alert")).to_contain_text("cannot start the lesson nonsense")
    expect(inside.get_by_role("button", name="Lunch")).to_be_visible()
    lunch.unlink()


def test_a_phone_in_japanese_takes_another_lesson_and_checks_a_message(
    site: Site, person: Callable[..., BrowserContext]
) -> None:
    """What cannot be judged without a library is said, and nothing is called right."""
    page = person(locale="ja-JP", **PHONE).new_page()
    page.goto(site.address)
    inside = shown(page)
    expect(inside.locator("html")).to_have_attribute("lang", "ja")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
    inside.get_by_role("link", name="レッスン").tap()
    inside.get_by_role("button", name="モデルが選ぶツール").tap()
    expect(inside.locator(".scripted article.message")).to_be_visible()
    inside.locator("#send").tap()  # with a name of ours: the step is not passed, and is repeated
    expect(inside.locator(".lesson")).to_contain_text("3 個のうち 2 個目")
    inside.get_by_role("button", name="このステップをもう一度").tap()
    expect(inside.locator(".lesson")).to_contain_text("3 個のうち 1 個目")
    inside.locator("#tab-form").tap()
    inside.locator('[data-pointer$="/name"]').first.fill("Nia's server")
    inside.locator("#send").tap()
    expect(inside.locator(".lesson")).to_contain_text("3 個のうち 2 個目")
    expect(inside.locator(".lesson .failed")).to_have_count(0)
    inside.get_by_role("link", name="チェック").tap()
    tool = {"name": "a", "inputSchema": {"type": "objekt"}}
    inside.locator("[data-drop]").fill(
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}})
    )
    inside.get_by_role("button", name="確認する").tap()
    expect(inside.locator(".problems")).to_contain_text("スキーマを判断できません")
    expect(inside.locator("#verdict")).to_be_in_viewport()
    (python,) = page.workers
    for evaluate in (page.evaluate, page.frames[1].evaluate, python.evaluate):
        assert evaluate(ASKS_ELSEWHERE) == "connect-src"


ASKS_ELSEWHERE: Final = """() => new Promise((done) => {
    self.addEventListener("securitypolicyviolation", (one) => done(one.effectiveDirective));
    fetch("https://elsewhere.example/").then(() => done("sent"), () => {});
})"""
"""Return which policy stopped a request to another address."""


def test_what_is_built_has_a_policy_and_no_file_that_a_host_leaves_out(folder: Path) -> None:
    """A static host sends no header of ours, and GitHub Pages publishes no hidden file."""
    made = folder / "try"
    page = (made / "index.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', page)
    worker = re.findall(r'POLICY = "([^"]+)"', (made / "sw.js").read_text(encoding="utf-8"))
    for one in (policy, *worker):
        rules = dict(rule.split(" ", 1) for rule in one.split("; "))
        assert rules.pop("default-src") == "'none'"
        assert rules["script-src"] == "'self' 'wasm-unsafe-eval'"
        assert {word for rule in rules.values() for word in rule.split()} <= SOURCES
    assert len(worker) == 1
    assert [one.name for one in made.rglob("*") if one.name.startswith((".", "_"))] == []


SOURCES: Final = {"'self'", "'none'", "'wasm-unsafe-eval'", "data:"}


def test_a_first_visit_loads_at_most_9_megabytes(folder: Path) -> None:
    """Every file is loaded, as it is: a server may compress none of them further."""
    sizes = {path.name: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    assert sum(sizes.values()) <= MOST_BYTES, sizes


def test_a_browser_without_service_workers_gets_a_sentence(
    site: Site, person: Callable[..., BrowserContext]
) -> None:
    """An address without TLS has none."""
    context = person()
    context.add_init_script(
        "Object.defineProperty(Navigator.prototype, 'serviceWorker', {value: undefined})"
    )
    page = context.new_page()
    page.goto(site.address)
    expect(page.get_by_role("alert")).to_contain_text("service workers")


def test_a_browser_without_webassembly_gets_a_sentence(site: Site, playwright: Playwright) -> None:
    """Where an administrator forbids to compile, for example."""
    browser = chromium.launch(playwright, "--js-flags=--jitless")
    page = browser.new_page(locale="ja-JP")
    page.goto(site.address)
    expect(page.get_by_role("alert")).to_contain_text("WebAssembly")
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    browser.close()


def test_a_full_storage_gets_a_sentence_and_a_file_that_fails_another(
    site: Site, person: Callable[..., BrowserContext]
) -> None:
    """And the next visit succeeds."""
    page = person().new_page()
    tools = page.context.new_cdp_session(page)
    tools.send("Storage.overrideQuotaForOrigin", {"origin": site.origin, "quotaSize": 1_000_000})
    page.goto(site.address)
    expect(page.get_by_role("alert")).to_contain_text("storage of this browser is full")
    expect(page.get_by_text("Loading Python")).to_be_hidden()
    tools.send("Storage.overrideQuotaForOrigin", {"origin": site.origin})
    site.cut = "program.zip.packed"
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("Check the network")
    site.cut = ""
    page.reload()
    shown(page)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_first_load_that_stalls_is_said_and_begun_again(
    site: Site, person: Callable[..., BrowserContext]
) -> None:
    """What has come stays; the next attempt goes on with it."""
    context = person()
    page = context.new_page()
    page.clock.install()
    site.stalled = "program.zip.packed"
    page.goto(site.address)
    until(lambda: site.waits, "the file is asked for")
    page.clock.fast_forward(30_000)
    expect(page.get_by_role("alert")).to_contain_text("Nothing has been loaded for 20 seconds")
    site.stalled = ""
    page.clock.resume()
    page.get_by_role("button", name="Try again").click()
    site.go_on()
    shown(page)
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("address", ["#%", "#check", "check/"])
def test_an_address_opens_a_page_of_it(
    site: Site, person: Callable[..., BrowserContext], address: str
) -> None:
    """One that cannot be decoded opens the first page. Back leads to a check, too."""
    page = person().new_page()
    page.goto(site.address + address)
    inside = shown(page)
    if address == "#%":
        expect(inside.locator(".lesson")).to_be_visible()
        return
    box = inside.locator("[data-drop]")
    for text, said in (("{", "1 message has problems"), ('{"jsonrpc":"2.0"}', "has problems")):
        box.fill(text)
        inside.get_by_role("button", name="Check").click()
        expect(box).to_have_value(text)
        expect(inside.locator("#verdict")).to_contain_text(said)
    inside.get_by_role("link", name="Lessons").click()
    expect(inside.get_by_role("heading", name="Your work")).to_be_visible()
    page.evaluate("history.back()")
    expect(inside.locator("#verdict")).to_contain_text("has problems")


def test_work_that_cannot_be_stored_is_said_until_it_is_stored(
    site: Site, person: Callable[..., BrowserContext]
) -> None:
    """A storage that is full, then one that the person has cleared meanwhile."""
    page = person().new_page()
    page.goto(site.address)
    inside = shown(page)
    (python,) = page.workers
    python.evaluate(
        """() => {
            const { put } = IDBObjectStore.prototype;
            const full = new DOMException("", "QuotaExceededError");
            IDBObjectStore.prototype.put = () => { throw full; };
            self.free = () => { IDBObjectStore.prototype.put = put; };
        }"""
    )
    send(page, inside)
    expect(page.get_by_role("alert")).to_contain_text("does not store your work")
    expect(inside.locator(".lesson")).to_contain_text("Step 2 of 3")
    python.evaluate("self.free()")
    expect(page.get_by_role("alert")).to_have_count(0)
    tools = page.context.new_cdp_session(page)
    cleared = {"origin": site.origin, "storageTypes": "indexeddb"}
    tools.send("Storage.clearDataForOrigin", cleared)
    send(page, inside, "No.", "5")
    over = "You were the MCP server."
    expect(inside.locator(".motto")).to_have_text(over)
    expect(page.get_by_role("alert")).to_have_count(0)  # the first try may have met a closed one
    page.reload()
    expect(shown(page).locator(".motto")).to_have_text(over)


INSTALLS: Final = "navigator.serviceWorker.getRegistration().then((one) => one.installing !== null)"
VERSION: Final = """() => {
    const { document, getComputedStyle } = window.frames[0];
    const style = getComputedStyle(document.documentElement);
    return [document.getElementById("main").dataset.version, style.getPropertyValue("--version")];
}"""
"""The version of what Python makes, and of a file beside it."""


def unpacked(file: Path) -> bytes:
    """Return what a file holds as the service worker keeps it."""
    return lzma.decompress(file.with_name(f"{file.name}{lite.PACKED}").read_bytes())


def second_version(folder: Path, copy: Path) -> None:
    """Make another version of the built page: what Python makes differs, and a file beside it."""
    shutil.copytree(folder, copy)
    program, style = copy / "try" / "program.zip", copy / "try" / "static" / "desk.css"
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(unpacked(program))) as before,
        zipfile.ZipFile(made, "w") as after,
    ):
        for one in before.infolist():
            content = before.read(one).replace(b'id="main"', b'id="main" data-version="2"')
            after.writestr(one, content)
    lite.pack(program, made.getvalue())
    lite.pack(style, unpacked(style) + b":root { --version: 2; }")
    lite.write_service_worker(copy / "try")


def test_a_new_version_replaces_the_old_one_whole_when_a_person_takes_it(
    site: Site, person: Callable[..., BrowserContext], tmp_path: Path
) -> None:
    """What fails on the way leaves the old one working; the work of the learner stays."""
    old = site.folder
    context = person()
    page = context.new_page()
    page.goto(site.address)
    inside = shown(page)
    send(page, inside)
    expect(inside.locator(".lesson")).to_contain_text("Step 2 of 3")
    second_version(old, tmp_path / "new")
    site.folder = tmp_path / "new"
    style = site.folder / "try" / "static" / "desk.css.packed"
    good = style.read_bytes()
    for fault in ("cut", "missing", "stale"):
        site.cut = style.name if fault == "cut" else ""
        if fault == "missing":
            style.unlink()
        elif fault == "stale":  # with its time: a browser asks whether a file is newer, in seconds
            shutil.copy2(old / style.relative_to(site.folder), style)
        page.evaluate("navigator.serviceWorker.getRegistration().then((one) => one.update())")
        until(lambda: not page.evaluate(INSTALLS), "the attempt ends")
        with page.expect_event("framenavigated"):
            inside.get_by_role("link", name="Inbox").first.click()
        expect(shown(page).locator(".lesson")).to_contain_text("Step 2 of 3")
        expect(page.get_by_role("status")).to_have_count(0)
        assert page.evaluate(VERSION) == [None, ""]
    style.write_bytes(good)
    second = context.new_page()
    second.goto(site.address)
    for one in (page, second):
        expect(one.get_by_role("status")).to_contain_text("A new version")
        expect(shown(one).locator(".lesson")).to_contain_text("Step 2 of 3")
        assert one.evaluate(VERSION) == [None, ""]
    second.get_by_role("button", name="Load it").click()
    for one in (second, page):
        new = shown(one).locator("#main[data-version='2']")
        expect(new).to_be_visible(timeout=BOOTS_WITHIN)
        assert one.evaluate(VERSION) == ["2", "2"]
        expect(shown(one).locator(".lesson")).to_contain_text("Step 2 of 3")
        expect(one.get_by_role("status")).to_have_count(0)
    assert len(page.evaluate("caches.keys()")) == 1


@pytest.mark.firefox
def test_the_first_lesson_is_taken_in_firefox_in_japanese_without_a_network(
    site: Site, playwright: Playwright
) -> None:
    """By the keys, with a reload in the middle."""
    browser = firefox.launch(playwright)
    page = browser.new_page(locale="ja-JP")
    page.goto(site.address)
    inside = shown(page)
    site.close()
    expect(inside.locator("html")).to_have_attribute("lang", "ja")
    expect(inside.locator(".lesson")).to_contain_text("3 個のうち 1 個目")
    send(page, inside)
    expect(inside.locator(".lesson")).to_contain_text("3 個のうち 2 個目")
    page.reload()
    inside = shown(page)
    expect(inside.locator(".lesson")).to_contain_text("3 個のうち 2 個目")
    send(page, inside, "遠い。", "5")
    expect(inside.locator(".motto")).to_have_text("あなたは MCP サーバーでした。")
    browser.close()


@pytest.mark.firefox
def test_firefox_that_refuses_its_storage_gets_a_sentence(
    site: Site, playwright: Playwright
) -> None:
    """It refuses as soon as a script names the storage."""
    browser = firefox.launch(playwright, network__cookie__cookieBehavior=2)
    page = browser.new_page()
    page.goto(site.address)
    expect(page.get_by_role("alert")).to_contain_text("storage")
    browser.close()
