"""The page *Notices*: where notices go, a test notice, and what phones subscribe to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fastapi import Request
from starlette.responses import HTMLResponse

from humanmcp.common import qr_code
from humanmcp.common.timestamps import stamp
from humanmcp.desk import rights
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.extensions.notices.notifier import Notifier
from humanmcp.extensions.notices.ntfy import Phone

RIGHTS: Final = {
    **rights.read(rights.HERE, "/notices"),
    **rights.write(rights.OWN, "/notices"),
}

router: Final = page_router()


@router.get("/notices")
def show(request: Request) -> HTMLResponse:
    """Show where notices go, and what became of them."""
    return _page(request)


@router.post("/notices")
def try_notices(request: Request) -> HTMLResponse:
    """Send a test notice by each rule, and show which ones were accepted."""
    desk = desk_of(request)
    return _page(request, [target.tell(desk) for target in _notifier(request).targets])


def _notifier(request: Request) -> Notifier:
    return next(one for one in desk_of(request).listeners if isinstance(one, Notifier))


def _page(request: Request, tried: Sequence[bool] = ()) -> HTMLResponse:
    notifier = _notifier(request)
    phones = [one for one in notifier.targets if isinstance(one, Phone)]
    return page(
        request,
        "notices/notices.html",
        file=notifier.file,
        targets=notifier.targets,
        tried=tried,
        phones=[(one, qr_code.svg(one.link)) for one in phones],
        presses=[(note, stamp(note.at)) for note in notifier.presses.all()],
    )
