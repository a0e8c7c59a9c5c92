"""Devices that may answer: their links, and what a phone needs to install the page as an app."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from humanmcp.common import qr_code
from humanmcp.common.timestamps import stamp
from humanmcp.desk.context import LONGEST_CALLED, FormValues, desk_of, note_version, page
from humanmcp.desk.presenters.rendering import edition, render, web_folder

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])


@router.get("/devices")
def devices(request: Request) -> HTMLResponse:
    """List the devices that may answer."""
    return _page(request)


@router.post("/devices")
async def change(request: Request, values: FormValues) -> Response:
    """Make the link of a new device, or remove one."""
    desk = desk_of(request)
    if device_id := values.get("remove", ""):
        desk.door.remove_device(device_id)
        return RedirectResponse("/devices", 303)
    name = " ".join(values.get("name", "").split())[:LONGEST_CALLED]
    if not name or not desk.address.elsewhere:
        return _page(request, 422, unnamed=not name)
    link = desk.device_link(name)
    drawn = qr_code.svg(link).decode().partition("?>")[2]
    return _page(request, named=name, link=link, drawn=drawn)


def _page(request: Request, status: int = 200, **values: object) -> HTMLResponse:
    desk = desk_of(request)
    return page(
        request,
        "devices.html",
        status,
        **{"named": "", "link": "", "unnamed": False, **values},
        devices=[(one, stamp(one.seen)) for one in desk.door.devices()],
        elsewhere=desk.address.elsewhere,
    )


@router.get("/manifest.webmanifest")
def manifest() -> Response:
    """Say how the page is installed: it begins in the place of the device's login session."""
    icon = {"src": f"/static/~{edition()}/icon-0.svg", "sizes": "any", "type": "image/svg+xml"}
    facts = {
        "name": "humanmcp",
        "short_name": "humanmcp",
        "start_url": "./",
        "scope": "./",
        "display": "standalone",
        "background_color": "#1f2937",
        "theme_color": "#1f2937",
        "icons": [icon],
    }
    return JSONResponse(facts, media_type="application/manifest+json")


@router.get("/worker.js")
def worker() -> Response:
    """Return the service worker, which changes with every edition of the page."""
    script = (web_folder() / "static" / "worker.js").read_text(encoding="utf-8")
    return Response(f'const EDITION = "{edition()}";\n{script}', media_type="text/javascript")


@router.get("/offline")
def offline() -> HTMLResponse:
    """Show what an installed page says while the desk cannot be reached."""
    return HTMLResponse(render("offline.html"))
