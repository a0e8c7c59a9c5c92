"""The page under *Connect*: who opens a session, said and changed."""

from humanmcp.inbox.folder import FolderInbox
from tests.support.desk_process import FORM, Desking


def test_who_opens_a_session_is_said_and_changed_on_the_page(desking: Desking) -> None:
    """*Answer the handshake myself*: one press, and one to give it back."""
    inbox = FolderInbox(desking.home)
    assert "Answer the handshake myself" in desking.page("/connect")
    for act, on, said in (
        ("hand", True, "Let rules answer"),
        ("book", False, "Answer the handshake"),
    ):
        answer = desking.submit("/handshake", act=act)
        assert answer.status == 303
        assert inbox.handshake_is_by_hand() is on
        assert said in desking.page("/connect")


def test_scripts_send_the_forms_of_the_page(desking: Desking) -> None:
    """What the interface has no call for, a form with the token of scripts does."""
    form = {**desking.bearer, **FORM}
    assert desking.ask("POST", "/handshake", body=b"act=hand", headers=form).status == 303
    assert FolderInbox(desking.home).handshake_is_by_hand()
    assert desking.ask("POST", "/handshake", body=b"act=perhaps", headers=form).status == 404
