"""Describe the interface for scripts as OpenAPI, from the annotations of its functions."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.responses import Response

from humanmcp import __version__
from humanmcp.desk.context import AsciiJson, CallRoute
from humanmcp.desk.routes import api, api_drafts, login, settings

router: Final = APIRouter(prefix="/api", default_response_class=AsciiJson, route_class=CallRoute)

CALLS: Final = (
    api.router,
    api_drafts.router,
    api.prepared,
    api.helping,
    login.calls,
    settings.calls,
    router,
)
"""The interface for scripts, which the page's own scripts use."""


@router.get("/openapi.json")
def openapi() -> Response:
    """Describe every call, with the members of its body and its answer: OpenAPI 3.1."""
    return AsciiJson(describe(CALLS))


def describe(routers: Iterable[APIRouter], more: Sequence[APIRoute] = ()) -> dict[str, Any]:
    """Describe the calls of these routers, and the routes in `more`.

    The desk keeps the shapes of its answers from FastAPI (`CallRoute`), so the routes are made anew
    with them.
    """
    routes = [
        APIRoute(route.path, route.endpoint, methods=route.methods)
        for one in routers
        for route in one.routes
        if isinstance(route, APIRoute)
    ]
    return get_openapi(title="humanmcp", version=__version__, routes=[*routes, *more])
