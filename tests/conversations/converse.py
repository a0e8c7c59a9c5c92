"""Has a conversation with a running `humanmcp serve`, through its pipes and its two text files."""

from humanmcp import locales
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm, blocking
from tests.conversations.play import Played, Player
from tests.conversations.script import Conversation, Deed, Step
from tests.support.serve_process import Serving
from tests.support.waiting import until


def converse(serving: Serving, conversation: Conversation) -> None:
    """Have the whole conversation, and see the server end in order with nothing more to say."""
    speaker = Player()
    for step in conversation.steps:
        _do(serving, step, speaker.play(step))
        assert [serving.hear() for _line in step.out] == step.out, f"line {step.at}"
    assert serving.close() == (0, [])


def _do(serving: Serving, step: Step, played: Played) -> None:
    """Be the client or the person, as the step says, and wait until it has had its effect."""
    if step.deed is None:
        serving.say(step.text)
    elif step.deed is Deed.BOOK:
        pass
    elif played.form is None:
        _save(serving, played)
    else:
        _send(serving, played, played.form)


def _save(serving: Serving, played: Played) -> None:
    """Save a text in `out.txt`. One that is refused stays there, and problems.txt says why."""
    serving.type(played.typed)
    if not played.refused:
        until(serving.taken, f"{played.typed!r} taken")
        return
    sentences = [" ".join(locales.describe(one).split()) for one in blocking(played.diagnostics)]
    assert sentences

    def has_all() -> bool:
        complaint = " ".join(serving.complaint().split())
        return all(sentence in complaint for sentence in sentences)

    until(has_all, f"{sentences} in problems.txt")
    out = serving.session / "out.txt"  # gone for a moment where a part of it was sent
    until(lambda: out.exists() and out.read_text("utf-8") == played.typed, "it stays there")


def _send(serving: Serving, played: Played, form: TextForm) -> None:
    """Send a text at a desk. One that is refused comes back as the draft with its problems."""
    inbox = FolderInbox(serving.home)
    key = Key(serving.session.name, played.number)
    until(lambda: key in {item.key for item in inbox.items(key.session)}, f"{key} in the inbox")
    inbox.send(key, Reply(played.typed, form, anyway=played.anyway, by="desk"))
    if played.refused:
        until(lambda: inbox.item(key).diagnostics, "the reply given back")
        item = inbox.item(key)
        assert [diagnostic.code for diagnostic in item.diagnostics] == played.codes
        assert item.draft is not None
        assert item.draft.text == played.typed
