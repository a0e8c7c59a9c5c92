"""Hand back the prompts that were decided in the agent's own dialog: the first answer wins.

An agent starts a hook for each tool that has run. It finds what still waits for the same tool and
input, as between two desks.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from humanmcp.hook.events import ENDED
from humanmcp.inbox.contract import Reply, TakenError
from humanmcp.protocol.conversation.approvals import handed_back, read_once
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.tree import follow, text_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.hook.events import HookPrompt
    from humanmcp.inbox.contract import Inbox, SessionFacts

KEYBOARD: Final = "keyboard"
"""Who hands a prompt back that was decided in the agent itself."""


def sessions_of(inbox: Inbox, prompt: HookPrompt) -> Iterator[SessionFacts]:
    """Yield the sessions of an agent's session, the newest first."""
    if prompt.session:
        yield from (one for one in inbox.sessions() if one.agent == prompt.session)


def hand_back(inbox: Inbox, prompt: HookPrompt) -> None:
    """Hand back what still waits although the agent has gone on: it was decided in the agent."""
    asked = read_once(prompt.input)[0]
    for facts in sessions_of(inbox, prompt):
        for item in inbox.items(facts.name) if facts.is_open else ():
            given = follow(read_once(item.line)[0], "params", "arguments")
            same = text_at(given, "tool_name") == prompt.tool and follow(given, "input") == asked
            if same or prompt.name in ENDED:
                with suppress(TakenError):
                    inbox.send(item.key, Reply(handed_back(), TextForm.TEXT, by=KEYBOARD))
