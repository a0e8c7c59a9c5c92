"""Every place that shows an exchange says the same of it, whatever its state, in every language."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from humanmcp.answering import approvals
from humanmcp.answering.standing import Standing, prompt_of, standing_of, told_of
from humanmcp.answering.summary import answered_by
from humanmcp.desk.rendering import told
from humanmcp.inbox.contract import Item, Key, Purpose
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales import LANGUAGES, say, speaking
from humanmcp.protocol.conversation.prompts import approval_of_prompt
from tests.support.desk_process import Desking
from tests.support.inbox_folder import Shell
from tests.support.standings import TABLE, Staged

ROWS: Final = range(len(TABLE))
DECISIONS: Final = [
    row
    for row, (_, one, _) in enumerate(TABLE)
    if one.purpose is Purpose.PROMPT or (one.answer is not None and one.answer.action)
]
TIMED: Final = (Standing.WAITS, Standing.WRITING, Standing.HELD)
"""Who looks sees how long these wait, in place of a sentence."""


class Everything:
    """An inbox in which every state is so, and a desk over it."""

    def __init__(self, home: Path, desk: Desking, keys: list[Key]) -> None:
        """Show it in the terminal as well."""
        self.home = home
        self.keys = keys
        self._desk = desk
        self._pages: dict[str, str] = {}

    def item(self, row: int) -> Item:
        """Return an exchange as everybody reads it."""
        return FolderInbox(self.home).item(self.keys[row])

    def page(self, path: str, language: str) -> str:
        """Return the text of a page, which must be one."""
        address = f"{path}{'&' if '?' in path else '?'}lang={language}"
        if address not in self._pages:
            answer = self._desk.ask("GET", address, headers=self._desk.bearer)
            assert answer.status == 200, (address, answer.status)
            text = re.sub(r"(?s)<(script|style|svg|template)\b.*?</\1>", "", answer.text)
            self._pages[address] = html.unescape(re.sub(r"<[^>]+>|\s+", " ", text))
        return re.sub(" +", " ", self._pages[address])


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everything]:
    """Bring every state about, once for all tests."""
    home = tmp_path_factory.mktemp("told") / "home"
    staged = Staged(home)
    keys = [staged.place(exchange, life) for _, exchange, life in TABLE]
    with Desking(home) as desk:
        yield Everything(home, desk, keys)


@pytest.fixture
def home(everything: Everything) -> Path:
    """The terminal reads the same inbox."""
    return everything.home


@pytest.mark.parametrize("row", ROWS)
def test_the_inbox_keeps_every_state(everything: Everything, row: int) -> None:
    """Otherwise the other tests would look at something else."""
    standing, _, _ = TABLE[row]
    item = everything.item(row)
    life = FolderInbox(everything.home).facts(item.key.session).life
    assert standing_of(item, life) is standing


def headings_of(item: Item, standing: Standing) -> list[bool]:
    """Return whether what went out stands there as an answer, and as what goes on to a peer."""
    has_gone_out = item.answer is not None and item.answer.line != ""
    is_sent = has_gone_out and standing is not Standing.UNFETCHED
    return [is_sent and not standing.is_forwarded, is_sent and standing.is_forwarded]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("row", ROWS)
def test_a_page_says_what_is_so_and_nothing_else(
    everything: Everything, row: int, language: str
) -> None:
    """Also the part of it that follows, and the last decision above the list."""
    standing, _, _ = TABLE[row]
    item = everything.item(row)
    here = f"/m/{item.key.session}/{item.key.number}"
    page, status = (everything.page(each, language) for each in (here, f"{here}/status"))
    with speaking(language):
        others = {told(one, of, answered_by(one)) for of, one, _ in TABLE if of not in TIMED}
        own = told(item, standing, answered_by(item))
        wire = say("desk", "wire", bytes="").partition("1")[0]
        names = ("answer.sent", "held.forwarded")
        headings = [f"{say('desk', one)} {wire}" in page for one in names]
    assert standing in TIMED or (own in status and own in page)
    assert [one for one in others if one in status and one not in own] == []
    assert headings == headings_of(item, standing)
    if item.answer is not None and (item.purpose is not Purpose.ANSWER or item.answer.action):
        assert own in everything.page(f"/?sent={item.key.session}/{item.key.number}", language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("row", ROWS)
def test_the_terminal_says_the_same(
    everything: Everything, shell: Shell, row: int, language: str
) -> None:
    """Of one, and in its list."""
    standing, _, _ = TABLE[row]
    item = everything.item(row)
    words = ("--lang", language)
    shown = shell("show", f"{item.key.session}/{item.key.number}", *words).out
    with speaking(language):
        own = told_of(item, standing, answered_by(item))
        headings = [f"\n{say('show', one)}\n" in shown for one in ("sent", "forwarded")]
    assert own in shown.splitlines()
    assert headings == headings_of(item, standing)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_list_of_the_terminal_has_every_state(
    everything: Everything, shell: Shell, language: str
) -> None:
    """The same sentence in each row."""
    listed = shell("inbox", "--all", "--lang", language).out
    with speaking(language):
        for row in ROWS:
            item = everything.item(row)
            assert told_of(item, TABLE[row][0], answered_by(item)) in listed


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("row", DECISIONS)
def test_history_and_the_projector_show_what_was_decided(
    everything: Everything, row: int, language: str
) -> None:
    """As a state, and as what was done; the projector has the words of the card. Never as JSON."""
    standing, _, _ = TABLE[row]
    item = everything.item(row)
    name = item.key.session
    letter = FolderInbox(everything.home).facts(name).letter
    history = everything.page(f"/history?q=session:{letter}", language)
    present = everything.page(f"/present?name={name}", language)
    with speaking(language):
        if item.state.value != "pending":
            assert f" {say('desk', f'state.{standing}')} " in history
        action = item.answer.action if item.answer is not None else ""
        done = {one: say("wants", f"decided {one}") for one in ("allow", "deny", "keyboard")}
        if item.answer is not None and item.answer.action:
            assert told(item, standing, answered_by(item)) in present
        if item.purpose is Purpose.PROMPT:
            card = approvals.card_of(approval_of_prompt(prompt_of(item), item.line))
            assert card.parts
            for part in card.parts:
                assert f" {part.name} " in present
                assert all(line.text in present for line in part.lines)
            assert '"tool_name"' not in present
            assert '"behavior' not in present
    assert '"behavior' not in history
    if action in done and action != "allow":
        assert done["allow"] not in present
    if action != "deny":
        assert done["deny"] not in present


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("row", DECISIONS)
def test_an_exported_page_says_what_was_decided(
    everything: Everything, shell: Shell, row: int, language: str
) -> None:
    """In its rows; the bytes are below them."""
    item = everything.item(row)
    words = ("export", item.key.session, "--lang", language, "--format")
    rows = shell(*words, "markdown").out.partition("\n## ")[0]
    page, diagram = shell(*words, "html").out, shell(*words, "mermaid").out
    assert "behavior" not in rows + diagram
    if item.purpose is Purpose.PROMPT:
        with speaking(language):
            asked = say("wants", "command")
            done = item.answer and say("wants", f"decided {item.answer.action}")
        assert "PermissionRequest" not in rows
        for one in filter(None, (asked, done)):
            assert one in rows
            assert one in page
            assert one in diagram


@pytest.mark.parametrize("row", ROWS)
def test_the_interface_says_the_same_as_a_name(everything: Everything, row: int) -> None:
    """For scripts."""
    key = everything.keys[row]
    found = everything.page(f"/api/exchanges/{key.session}/{key.number}", "en")
    assert f'"standing":"{TABLE[row][0]}"' in found
