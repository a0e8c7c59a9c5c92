"""Fill the templates. Everything is escaped; what came over the wire is made visible besides."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from humanmcp.common.timestamps import clock
from humanmcp.locales import say
from humanmcp.protocol.json.escaping import one_line, visible

if TYPE_CHECKING:
    from jinja2 import Template

ROOM: Final = "desk"


@cache
def web_folder() -> Path:
    """Return the folder of templates and static files: in the wheel, or in a checkout."""
    installed = Path(str(resources.files("humanmcp"))) / "web"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "web"


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
    environment.filters |= {"visible": visible, "one_line": one_line, "clock": clock}
    return environment


@cache
def _template(name: str) -> Template:
    return _environment().get_template(name)


def render(name: str, language: str, **values: Any) -> str:  # noqa: ANN401 - templates take anything
    """Render a template in a language."""

    def t(code: str, **fillings: object) -> str:
        return say(ROOM, code, language, **fillings)

    def w(code: str) -> str:
        return say("waiting", code, language)

    return _template(name).render(values, lang=language, t=t, w=w)
