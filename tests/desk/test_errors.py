"""What the desk cannot do: each refusal is a sentence in the language of whoever asked."""

from pathlib import Path
from typing import Any

import pytest

from humanmcp import launch
from humanmcp.desk import guard, routing
from humanmcp.desk.guard import Refusal
from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales import LANGUAGES, sentences_of
from tests.support.desk_process import Desking

LINE = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}'


def detail(answer: Any) -> str:  # noqa: ANN401 - an answer of the desk
    """Return the sentence of an error."""
    return str(answer.json["detail"])


def test_what_is_not_there_is_said_in_both_languages(desk: Desking) -> None:
    """An exchange, a line, an address, a key: 404 and 401 with a sentence."""
    for path, english, japanese in (
        ("/api/exchanges/nobody/1", "nobody is not in the inbox", "nobody は受信箱にありません"),
        ("/api/nowhere", "This message or page does not exist", "このメッセージやページ"),
    ):
        for address, said in ((path, english), (f"{path}?lang=ja", japanese)):
            answer = desk.ask("GET", address, headers=desk.bearer)
            assert (answer.status, said in detail(answer)) == (404, True)
    for language, said in (("en", "This link is not valid any more"), ("ja", "5 分")):
        answer = desk.post(f"/api/login?lang={language}", {"key": "wrong"})
        assert (answer.status, said in detail(answer)) == (401, True)
    answer = desk.post("/api/answers?lang=ja", {"method": 5})
    assert answer.status == 422
    assert "text" in answer.json["at"]
    assert "正しくありません" in detail(answer)


def test_a_line_that_was_not_recorded_is_not_there(desk: Desking, home: Path) -> None:
    """The number is named, and where the others are."""
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:49:07Z"))
    answer = desk.ask("GET", f"/api/sessions/{name}/lines/9?lang=ja", headers=desk.bearer)
    assert answer.status == 404
    assert f"セッション {name} に 9 行目はありません" in detail(answer)
    inbox.end(name)


def test_a_disk_that_keeps_nothing_is_told_to_scripts_and_pages(desk: Desking, home: Path) -> None:
    """507, the reason and the advice; the page has them as a page."""
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:49:07Z"))
    inbox.deliver(Item(Key(name, 1), LINE, "tools/call", "1", "2025-06-18", "2026-01-01T00:00:00Z"))
    (home / "tmp").rmdir()
    (home / "tmp").write_text("", encoding="utf-8")
    answer = desk.post(f"/api/exchanges/{name}/1/draft?lang=ja", {"text": "x"})
    assert answer.status == 507
    assert detail(answer).startswith("メッセージ 1 の下書きを保存できませんでした: ")
    for language, said in (
        ("en", "message 1 could not be saved"),
        ("ja", "下書きを"),
    ):
        page = desk.submit(f"/m/{name}/1?lang={language}", text="x")
        assert page.status == 507
        assert said in page.text
        assert page.headers["content-type"].startswith("text/html")


def test_every_refusal_of_the_guard_has_its_sentence() -> None:
    """The sentences and the refusals are the same set, in each language."""
    refusals = {one.code for one in vars(guard).values() if isinstance(one, Refusal)}
    refusals |= {*routing.WHY_NOT.values(), "heavy", "open.desk"}
    for language in LANGUAGES:
        assert set(sentences_of("refusal", language)) == refusals


def test_a_refusal_speaks_the_language_of_the_browser(desk: Desking) -> None:
    """Nobody is known yet: the browser's own wish counts."""
    for accepted, path, said in (
        ("en", "/", "This is not the address of this page"),
        ("ja,en", "/", "このページのアドレスではありません"),
        ("en", "/?lang=ja", "このページのアドレスではありません"),
        ("ja", "/?lang=en", "This is not the address of this page"),
    ):
        headers = {"Host": "elsewhere", "Accept-Language": accepted}
        answer = desk.ask("GET", path, headers=headers)
        assert (answer.status, said in answer.text) == (421, True)
    page = desk.ask("GET", "/?lang=ja", headers={"Accept-Language": "en"})
    assert (page.status, '<html lang="ja"' in page.text) == (401, True)


def test_a_desk_that_does_not_start_is_said_in_both_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `serve --open` starts says on stderr why there is no page."""
    monkeypatch.setattr(launch, "START_WITHIN", 0.0)
    monkeypatch.setattr(launch, "_start", lambda *_how: None)
    monkeypatch.setattr(launch, "wait_for_facts", lambda _folder, **_how: None)
    for language, said in (
        ("en", "The page did not start."),
        ("ja", "ページを起動できませんでした。"),
    ):
        assert launch.main(str(tmp_path / "home"), language) == 1
        complaint = capsys.readouterr().err
        assert said in complaint
        assert str(tmp_path / "home" / launch.LOG_NAME) in complaint
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert launch.main(str(tmp_path / "file" / "home"), "ja") == 1
    assert "パスの途中がフォルダーではありません" in capsys.readouterr().err
