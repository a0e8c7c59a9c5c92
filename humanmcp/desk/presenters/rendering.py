"""How the page speaks: its language, the sentences of its scripts, and its templates, filled.

Everything is escaped; what came over the wire is made visible besides.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from humanmcp.common.timestamps import clock
from humanmcp.desk.presenters.markdown import blocks
from humanmcp.locales import LANGUAGES, say, sentences_of, who
from humanmcp.protocol.json.escaping import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Template

    from humanmcp.answering.schema.page import FaultShape
    from humanmcp.protocol.spec.faults import Fault

ROOM: Final = "desk"
SCRIPT: Final = "js."
"""Sentences whose code begins with this are handed to the scripts of the page, unfilled."""


@cache
def web_folder() -> Path:
    """Return the folder of templates and static files: in the wheel, or in a checkout."""
    installed = Path(str(resources.files("humanmcp"))) / "web"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "web"


@cache
def edition() -> str:
    """Return a name that changes with any of the static files."""
    found = hashlib.sha256()
    for path in sorted((web_folder() / "static").rglob("*")):
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()[:16]


def static() -> str:
    """Return the beginning of the addresses of static files, which a browser may keep for good."""
    return f"/static/~{edition()}/"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(web_folder() / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {"markdown": blocks}
    environment.globals["static"] = static()
    environment.filters |= {"visible": visible, "one_line": one_line, "clock": clock}
    return environment


@cache
def template(name: str) -> Template:
    """Return a template, compiled once: one takes about 10 ms."""
    return _environment().get_template(name)


def render(name: str, language: str, **values: Any) -> str:  # noqa: ANN401 - templates take anything
    """Render a template in a language."""

    def t(code: str, **fillings: object) -> str:
        return say(ROOM, code, language, **fillings)

    def w(code: str) -> str:
        return say("waiting", code, language)

    def by(name: str) -> str:
        return t("party.you") if name == "desk" else who(name, language)

    return template(name).render(values, lang=language, t=t, w=w, by=by)


def language_of(query: str, cookie: str, accepted: str, wanted: str = "") -> str:
    """Choose: what the address says, what was chosen before, the setting, what the browser says."""
    for candidate in (query, cookie, wanted):
        if candidate[:2].lower() in LANGUAGES:
            return candidate[:2].lower()
    for part in accepted[:1000].split(","):
        short = part.strip()[:2].lower()
        if short in LANGUAGES:
            return short
    return "en"


def for_scripts(language: str) -> Mapping[str, str]:
    """Return the sentences that the page's scripts need, by code without its beginning."""
    found = {**sentences_of(ROOM, "en"), **sentences_of(ROOM, language)}
    return {code[len(SCRIPT) :]: text for code, text in found.items() if code.startswith(SCRIPT)}


def fault(found: Fault, language: str) -> FaultShape:
    """Write a way to break an answer: its name, its title, and what a good host does with it."""
    title, host = (say("fault", code, language) for code in (found.value, f"{found.value}.host"))
    return {"name": found.value, "title": title, "host": host}
