"""The test prompt of humanmcp, by which nothing runs, and how the prompts of agents come here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotation
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from humanmcp.desk import rights
from humanmcp.desk.context import desk_of, page_router
from humanmcp.desk.moments import Listener
from humanmcp.desk.rendering import render
from humanmcp.desk.settings import own_request
from humanmcp.extensions.agents.hook_entries import HOOKS, SECTION
from humanmcp.extensions.agents.host_prompts import hooks_for
from humanmcp.locales import say, spoken_language
from humanmcp.protocol.conversation.prompts import OWN
from humanmcp.setup.hosts import HOSTS

if TYPE_CHECKING:
    from pathlib import Path

RIGHTS: Final = rights.write(rights.OWN, "/test-prompt")

router: Final = page_router()
_TEMPLATES: Final = {
    "connect": "agents/connect.html",
    "guests": "agents/test_prompt.html",
    "nothing yet": "agents/hooked.html",
}


class ApprovalsHere(Listener):
    """Shows how the permission prompts of agents come to a desk."""

    def __init__(self, home: Path) -> None:
        """`home` is the folder to which prompts come."""
        self._home = home

    def shown(self, place: str) -> Markup:
        """Return the command for each host, and the button of the test prompt, or that alone.

        Before anything has come: which hooks are set up, with that button; nothing without any.
        """
        hooked = list(hooks_for(self._home)) if place == "nothing yet" else []
        if place not in _TEMPLATES or (place == "nothing yet" and not hooked):
            return Markup()
        commands = [
            (host.label, f"humanmcp config {host.name} --approvals --write")
            for host in HOSTS
            if host.name in HOOKS
        ]
        return Markup(render(_TEMPLATES[place], commands=commands, hooked=hooked))  # noqa: S704 - a template escapes


@router.post("/test-prompt")
def ask(request: Request) -> Response:
    """Ask the person for permission as an agent does. Its decision is kept, and no more."""
    asked = {"hook_event_name": "PermissionRequest", "tool_name": say(SECTION, "test tool")}
    given = {"session_id": "test", "tool_input": {"message": say(SECTION, "test words")}}
    text = json.dumps({**asked, **given})
    command = ("humanmcp", "hook", "--host", OWN)
    own_request.start(command, desk_of(request).home, spoken_language(), "", text.encode())
    return RedirectResponse("/", 303)
