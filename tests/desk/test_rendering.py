"""Templates are compiled once, whoever asks for them."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import jinja2
import pytest

from humanmcp.desk import rendering

CLASS: Final = 30
NAMES: Final = ("inbox/inbox.html", "inbox/status.html", "base.html")


def test_a_template_is_compiled_once_where_a_class_opens_its_first_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also those that it takes in: thirty compile each for themselves in a second of processor."""
    compiled: Counter[str] = Counter()
    ready = threading.Barrier(CLASS)
    as_before = jinja2.FileSystemLoader.get_source

    def counted(
        loader: jinja2.FileSystemLoader, environment: jinja2.Environment, name: str
    ) -> object:
        compiled[name] += 1
        return as_before(loader, environment, name)

    def opened(_number: int) -> None:
        ready.wait()
        for name in NAMES:
            rendering.template(name)
            rendering.template(NAMES[0]).environment.get_template(name)  # as an include does

    rendering._environment.cache_clear()
    monkeypatch.setattr(jinja2.FileSystemLoader, "get_source", counted)
    with ThreadPoolExecutor(CLASS) as people:
        list(people.map(opened, range(CLASS)))
    assert compiled == dict.fromkeys(NAMES, 1)
