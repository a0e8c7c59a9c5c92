"""What an inbox cannot do, in the words that a person reads."""

import errno

import pytest

from humanmcp.inbox.contract import InboxError, Key, StoreError, TakenError, UnknownItemError
from humanmcp.locales import LANGUAGES, sentences_of
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.support.speaking import said_in

KEY = Key("20261120T184907Z-4f2a", 3)


@pytest.mark.parametrize(
    ("error", "english", "japanese"),
    [
        (
            UnknownItemError("s/3"),
            "s/3 is not in the inbox. `humanmcp inbox --all` lists everything in it.",
            (
                "s/3 は受信箱にありません。"
                "`humanmcp inbox --all` は、受信箱にあるものをすべて一覧します。"
            ),
        ),
        (
            UnknownItemError("s", line=7),
            "Session s has no line 7. `humanmcp export s` prints its lines.",
            (
                "セッション s に 7 行目はありません。"
                "`humanmcp export s` は、セッションの行を表示します。"
            ),
        ),
        (
            TakenError(KEY, ExchangeState.PENDING, "desk"),
            (
                "Another answer to message 3 is already being sent (desk). "
                "Your text is kept as a draft."
            ),
            (
                "メッセージ 3 には、別の回答を送信中です\uff08desk\uff09。"
                "文章は下書きとして保存してあります。"
            ),
        ),
        (
            TakenError(KEY, ExchangeState.CANCELLED),
            (
                "The client cancelled message 3 and no longer waits for an answer. "
                "Your text is kept as a draft."
            ),
            (
                "クライアントがメッセージ 3 を取り消し、もう回答を待っていません。"
                "文章は下書きとして保存してあります。"
            ),
        ),
        (
            StoreError(OSError(errno.ENOSPC, "No space left on device"), "draft", number=3),
            "The draft for message 3 could not be saved: the disk is full. Free some space.",
            (
                "メッセージ 3 の下書きを保存できませんでした: ディスクがいっぱいです。"
                "空きを作ってください。"
            ),
        ),
        (
            StoreError(OSError(errno.ENOTDIR, "Not a directory"), "new session"),
            (
                "The session could not be saved: a part of the path is not a folder. "
                "Run `humanmcp doctor`."
            ),
            (
                "セッションを保存できませんでした: パスの途中がフォルダーではありません。"
                "`humanmcp doctor` を実行してください。"
            ),
        ),
    ],
)
def test_an_error_of_the_inbox_speaks_both_languages(
    error: InboxError, english: str, japanese: str
) -> None:
    """Place, fact and what to do, in the language of whoever reads it; English in a log."""
    assert error.sentence() == english == str(error)
    assert said_in("ja", error.sentence) == japanese


@pytest.mark.parametrize("state", ExchangeState)
@pytest.mark.parametrize("by", ["", "files"])
def test_whatever_became_of_an_exchange_has_a_sentence(state: ExchangeState, by: str) -> None:
    """Also for a state that is seldom met, with and without somebody's name."""
    for language in LANGUAGES:
        assert "3" in said_in(language, TakenError(KEY, state, by).sentence)


def test_what_the_system_says_without_a_sentence_of_ours_is_told_as_it_is() -> None:
    """A trouble that nobody thought of is better told in English than not at all."""
    error = StoreError(OSError(errno.EDOM, "Numerical argument out of domain"), "saying")
    assert said_in("ja", error.sentence) == (
        "あなたが送るメッセージを保存できませんでした: Numerical argument out of domain。"
        "`humanmcp doctor` を実行してください。"
    )


def test_every_trouble_of_a_disk_that_has_an_advice_is_known_to_this_system() -> None:
    """The codes are the names of `errno`; a misspelt one would never be found."""
    known = {*errno.errorcode.values(), "EDQUOT", "other", "no utf-8", "no toml"}
    for room in ("os_error", "store_advice"):
        assert set(sentences_of(room, "en")) <= known
