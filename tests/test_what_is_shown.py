"""What a person allows is what they saw: drawn, copied and sent, at every front end."""

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import pytest

from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.extensions.notices.ntfy import buttons_of, words_of
from humanmcp.inbox.contract import Key
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.protocol.json.visible import left_to_right
from tests.desk.devices.test_devices import Browser, link_of
from tests.extensions.tap.tap_process import Tapped, server
from tests.support.desk_process import Desking
from tests.support.inbox_folder import Room, Shell, approving
from tests.support.misleading_inputs import REFUSED, SHOWN, UNREAD, Shown
from tests.support.waiting import until

EACH = pytest.mark.parametrize("shown", SHOWN.values(), ids=list(SHOWN))


def prompt(shown: Shown, token: int = 3) -> str:
    """Return the permission prompt of a host for an input, byte for byte."""
    arguments = f'{{"tool_name": {json.dumps(shown.tool)}, "input": {shown.json}}}'
    return (
        f'{{"jsonrpc":"2.0","id":{token},"method":"tools/call",'
        f'"params":{{"name":"approve","arguments":{arguments}}}}}'
    )


def allows(line: str, shown: Shown) -> bool:
    """Return True if an answer allows the input as it was written."""
    text = json.loads(line)["result"]["content"][0]["text"]
    return bool(text == f'{{"behavior": "allow", "updatedInput": {shown.json}}}')


def card_in(page: str) -> str:
    """Return the card of a page in the form of the table."""
    lines = []
    for kind, inside in re.findall(r'<figure class="part (\w+)">(.*?)</figure>', page, re.DOTALL):
        name = re.search(r"<figcaption>(.*?)(?: <span>.*)?</figcaption>", inside, re.DOTALL)
        text = re.search(r'<pre tabindex="0">\n(.*)</pre>', inside, re.DOTALL)
        assert text is not None
        drawn = text[1].split("\n")
        if kind != "difference":  # each line is marked, so that one that wraps is known
            plain = re.sub(r'<span class="line"[^>]*>(.*?)</span>', r"\1", text[1], flags=re.DOTALL)
            drawn = plain.split("\n")
        else:
            signed = re.findall(r'<span class="line[^"]*"[^>]*><b>(.) </b>(.*?)</span>', text[1])
            drawn = [f"{sign}{line}" for sign, line in signed]
        lines += [f"{name[1] if name else ''}: {line}" for line in drawn]
    return html.unescape(re.sub("</?bdi>", "", "\n".join(lines)))


TOKENS = count(1)


@dataclass
class Site:
    """A desk, a phone at it, a session whose server takes replies, and a tap."""

    room: Room
    desk: Desking
    phone: Browser
    session: str
    numbers: Iterator[int]

    def ask(self, line: Callable[[int], str]) -> Key:
        """Let the host ask."""
        number = next(self.numbers)
        return self.room.ask(self.session, number, line(number))

    def page(self, front: str, key: Key) -> str:
        """Return the opened page of a request as a front end shows it."""
        path = f"/m/{key.session}/{key.number}?whole=1"
        return self.phone.get(path).text if front == "phone" else self.desk.page(path)

    def press(self, front: str, key: Key, page: str, act: str) -> None:
        """Press a button of a page."""
        hidden = dict(re.findall(r'<input type="hidden" name="(shown|seen)" value="(\w*)">', page))
        path, form = f"/m/{key.session}/{key.number}", {**hidden, "act": act}
        if front == "phone":
            assert self.phone.post(path, form).status == 303
        else:
            assert self.desk.submit(path, **form).status == 303

    def answer(self, key: Key) -> str:
        """Return the line that went to the host."""
        found = until(lambda: self.room.inbox.item(key).answer, "an answer")
        return found.line


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One desk for all inputs."""
    home = tmp_path_factory.mktemp("shown") / "home"
    room = Room(home)
    session = approving(room)
    room.serve(session)
    with Desking(home, "--lan") as desk:
        yield Site(room, desk, Browser(desk, link_of(desk, "phone")), session, count(1))
    room.close()


@EACH
@pytest.mark.parametrize("front", ["page", "phone"])
def test_the_page_and_the_phone_draw_it_and_allow_it(site: Site, shown: Shown, front: str) -> None:
    """The page also selects and copies it so: the card is text without signs of our own."""
    key = site.ask(lambda number: prompt(shown, number))
    page = site.page(front, key)
    assert card_in(page) == shown.drawn
    site.press(front, key, page, "allow")
    assert allows(site.answer(key), shown)


@EACH
def test_the_terminal_and_a_notice_show_it_and_the_terminal_allows_it(
    room: Room, shell: Shell, shown: Shown
) -> None:
    """With marks that keep the order of words, and nothing else."""
    session = approving(room)
    room.serve(session)
    key = room.ask(session, 3, prompt(shown))
    said = words_of(open_exchange_of(room.inbox, key))
    assert said.partition("\n")[2] == "\n".join(map(left_to_right, shown.drawn.split("\n")))
    wanted, before = [], None
    for name, _, line in (one.partition(": ") for one in shown.drawn.split("\n")):
        wanted += [f"  {name}"] if name and name != before else []
        wanted.append(f"    {left_to_right(line)}")
        before = name
    if shown.drawn:
        text = "\n".join(wanted)
        assert f"\n{text}\n" in shell("show", "3").out
    done = shell("answer", "3", "--allow", "--digest", digest_of(prompt(shown)))
    assert done.status == 0, done.err
    answer = room.inbox.item(key).answer
    assert answer is not None
    assert allows(answer.line, shown)


@pytest.fixture(scope="module")
def tapped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tapped, Desking]]:
    """A tap that holds each call, in front of a server that sends back what it gets; and a desk."""
    home = tmp_path_factory.mktemp("tapped") / "home"
    with Desking(home) as desk, Tapped(home, server("echo"), "--hold", "in:tools/call") as tap:
        yield tap, desk


@pytest.mark.parametrize(
    "shown",
    [*SHOWN.values(), *UNREAD.values()],
    ids=[*SHOWN, *UNREAD],
)
def test_a_tap_shows_it_and_forwards_the_line_as_it_came(
    tapped: tuple[Tapped, Desking], shown: Shown
) -> None:
    """Byte for byte."""
    tap, desk = tapped
    token = next(TOKENS)
    line = (
        f'{{"jsonrpc":"2.0","id":{token},"method":"tools/call",'
        f'"params":{{"name":{json.dumps(shown.tool)},"arguments":{shown.json}}}}}'
    ).encode()
    tap.say(line + b"\n")
    held = until(
        lambda: next(
            (one for one in tap.inbox.items(tap.session) if one.line == line.decode()), None
        ),
        "a held call",
    )
    path = f"/m/{held.key.session}/{held.key.number}"
    page = desk.page(f"{path}?whole=1")
    if held.held.unread:  # a tap that is not sure what a line says shows the line
        raw = re.search(r'<pre tabindex="0" class="copyable">(.*?)</pre>', page, re.DOTALL)
        assert raw is not None
        assert html.unescape(raw[1]) == held.line
    else:
        assert card_in(page) == shown.drawn
    seen = {"shown": digest_of(held.line), "seen": "all"}
    assert desk.submit(path, act="let go", **seen).status == 303
    assert tap.hear() == line + b"\n"


# -- what can only be denied ----------------------------------------------------------------------

DENIED = pytest.mark.parametrize(("given", "why"), REFUSED.values(), ids=list(REFUSED))


def denies(line: str) -> bool:
    """Return True if an answer denies."""
    text = json.loads(line)["result"]["content"][0]["text"]
    return bool(json.loads(text)["behavior"] == "deny")


@DENIED
@pytest.mark.parametrize("front", ["page", "phone"])
def test_what_cannot_be_shown_for_certain_is_denied_on_the_page_and_the_phone(
    site: Site, given: str, why: str, front: str
) -> None:
    """There is no button that allows, and a forged one does nothing."""
    key = site.ask(lambda number: prompt(Shown(given, ""), number))
    page = site.page(front, key)
    assert why in page
    assert 'value="allow"' not in page
    for act in ("allow", "change", "change json"):
        site.press(front, key, page, act)
        assert site.room.inbox.item(key).reply is None
    site.press(front, key, page, "deny")
    assert denies(site.answer(key))


@DENIED
def test_what_cannot_be_shown_for_certain_is_denied_in_a_terminal_and_by_a_notice(
    room: Room, shell: Shell, given: str, why: str
) -> None:
    """Both say why."""
    session = approving(room)
    room.serve(session)
    key = room.ask(session, 3, prompt(Shown(given, "")))
    opened = open_exchange_of(room.inbox, key)
    assert [one.label for one in buttons_of(opened)] == ["Deny"]
    assert why in words_of(opened)
    assert why in shell("show", "3").out
    assert shell("answer", "3", "--allow").status
    assert room.inbox.item(key).reply is None
    assert shell("answer", "3", "--deny", "no").status == 0
    answer = room.inbox.item(key).answer
    assert answer is not None
    assert denies(answer.line)
