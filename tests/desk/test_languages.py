"""Each answer of the desk is in its reader's language, also while somebody reads another."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales import LANGUAGES
from humanmcp.protocol.tables.examples import PLACEHOLDERS
from tests.support.desk_process import Desking
from tests.support.waiting import PATIENCE

READERS: Final = {
    "en": ("Settings", "No matches", "This message or page does not exist"),
    "ja": ("設定", "見つかりません", "このメッセージやページ"),
}
"""What each of two readers finds on the list, in the history and where nothing is."""

PATHS: Final = ("/", "/history?q=sideways", "/nowhere")
TIMES: Final = 15


def test_two_browsers_at_once_are_each_answered_in_their_own_language(desking: Desking) -> None:
    """One process, two readers, the same pages at the same moment: nothing is mixed."""
    start = threading.Barrier(2 * len(PATHS))

    def read(language: str, path: str) -> list[str]:
        start.wait(PATIENCE)
        headers = {**desking.bearer, "Accept-Language": language}
        return [desking.ask("GET", path, headers=headers).text for _ in range(TIMES)]

    with ThreadPoolExecutor(2 * len(PATHS)) as browsers:
        reading = {
            (language, at): browsers.submit(read, language, path)
            for language in READERS
            for at, path in enumerate(PATHS)
        }
    for (language, at), found in reading.items():
        (other,) = (one for one in READERS if one != language)
        for text in found.result():
            assert READERS[language][at] in text
            assert READERS[other][at] not in text


def test_what_one_browser_chooses_is_not_chosen_for_another(desking: Desking) -> None:
    """The choice is kept in the browser's cookie, not in the desk."""
    chosen = {**desking.bearer, "Accept-Language": "en", "Cookie": "lang=ja"}
    for headers, lang in ((chosen, "ja"), ({**desking.bearer, "Accept-Language": "en"}, "en")):
        assert f'<html lang="{lang}"' in desking.ask("GET", "/", headers=headers).text


@pytest.fixture
def waiting(desking: Desking) -> Iterator[str]:
    """A call of a tool that waits, by its path."""
    inbox = FolderInbox(desking.home)
    name = inbox.begin_session(SessionFacts(name="", started="2026-11-21T01:00:00.000Z", pid=1))
    line = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"weather"}}'
    inbox.deliver(
        Item(Key(name, 1), line, "tools/call", "7", "2025-11-25", "2026-11-21T01:00:01.000Z")
    )
    yield f"{name}/1"
    inbox.end(name)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_text_to_start_from_is_in_the_readers_language(
    desking: Desking, waiting: str, language: str
) -> None:
    """In the interface, and after *Pause*: these were in English."""
    asked, inbox = f"lang={language}", FolderInbox(desking.home)
    key = Key(waiting.partition("/")[0], 1)
    shown = desking.get(f"/api/exchanges/{waiting}?{asked}")
    assert PLACEHOLDERS[language] in shown["draft"]["text"]
    desking.submit(f"/m/{waiting}?{asked}", act="pause", text="x")
    draft = inbox.item(key).draft
    assert draft is not None
    assert PLACEHOLDERS[language] in draft.text
