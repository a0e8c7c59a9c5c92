"""A running `humanmcp room`, and browsers without scripts that come to it."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlencode

from humanmcp.desk.rights import TABLE
from tests.support.forking import start
from tests.support.ports import own_port
from tests.support.serve_http import JSON, Got, ask_http
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE, until

FORM: Final = "application/x-www-form-urlencoded"


class Rooming:
    """One room on loopback. `home` is its inbox folder; a room keeps its port."""

    def __init__(
        self, home: Path, *flags: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start it, and wait until it says where it is."""
        self.home = home
        home.mkdir(exist_ok=True, parents=True)
        self._out = home.parent / f"{home.name}.out"
        self._err = home.parent / f"{home.name}.err"
        with (
            Path(os.devnull).open("rb") as null,
            self._out.open("wb") as out,
            self._err.open("wb") as err,
        ):
            files = (null.fileno(), out.fileno(), err.fileno())
            is_new = not (home / "rooms").exists()
            port = ("--port", str(own_port())) if is_new else ()
            words = ["room", "--home", str(home), *port, *flags]
            variables = dict(environment or bare_environment(home.parent))
            self.process = start(words, files, variables, home.parent)
        found = until(lambda: self._dead() or self._links(), "the links of the room")
        assert isinstance(found, list), self._err.read_text()
        self.teacher_link, self.wall_link = found
        self.code = re.findall(r"The code is (\S+)\.", self.said())[0].replace("-", "")
        self.port = int(re.findall(r"  https?://127.0.0.1:(\d+)[ \n]", self.said())[-1])
        record = json.loads((self.folder / "room.json").read_text(encoding="utf-8"))
        self.name = record["name"]

    def said(self) -> str:
        """Return what stands in the terminal."""
        return self._out.read_text(encoding="utf-8")

    def _dead(self) -> bool:
        return self.process.poll() is not None

    def _links(self) -> list[str] | None:
        found = re.findall(r"  (http\S+/s/\S+)\n", self.said())
        return found if len(found) == 2 else None

    @property
    def folder(self) -> Path:
        """Where the room keeps what it keeps."""
        return self.home / "rooms" / "class"

    def __enter__(self) -> Self:
        """Use it as a context: it is gone afterwards."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it as a person does."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End it as a machine does that loses its power."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def visitor(self) -> Visitor:
        """Return a browser that has never been here."""
        return Visitor(self.port)

    def teacher(self) -> Visitor:
        """Return the teacher's browser."""
        return self.visitor().follow(self.teacher_link)

    def learner(self, name: str = "") -> Visitor:
        """Return a browser that has joined."""
        return self.visitor().join(self.code, name)


class Visitor:
    """A browser without scripts: it keeps its cookies by their path, and where it was led."""

    def __init__(self, port: int) -> None:
        """Know nothing."""
        self.port = port
        self.login_path = ""
        self.cookies: dict[str, str] = {}

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Got:
        """Send one request with the cookies that belong to its path."""
        ours = [one for at, one in self.cookies.items() if path == at or path.startswith(f"{at}/")]
        all_headers = {**({"Cookie": "; ".join(ours)} if ours else {}), **(headers or {})}
        page = ask_http(self.port, method, path, body, all_headers)
        if "set-cookie" in page.headers:
            cookie, *facts = page.headers["set-cookie"].split("; ")
            at = next(one.partition("=")[2] for one in facts if one.lower().startswith("path="))
            self.cookies[at] = cookie
        return page

    def get(self, path: str) -> Got:
        """Look at a page below the own login path."""
        return self.ask("GET", self.login_path + path)

    def submit(self, path: str, **fields: object) -> Got:
        """Press a button of a form."""
        form = {name.replace("_", " ").strip(): str(value) for name, value in fields.items()}
        own = f"http://127.0.0.1:{self.port}"
        headers = {"Content-Type": FORM, "Origin": own}
        return self.ask("POST", self.login_path + path, urlencode(form).encode(), headers)

    def order(self, **fields: object) -> Got:
        """Press a button of the room's page, and the button of its question if there is one."""
        asked = self.submit("/room", **fields)
        sure = re.search(r'name="sure" value="([\d ]+)"', asked.text)
        assert (asked.status == 409) is bool(sure)
        return self.submit("/room", **fields, sure=sure[1]) if sure else asked

    def call(self, path: str, record: object) -> Got:
        """Make a call of the interface as a page does."""
        own = f"http://127.0.0.1:{self.port}"
        entry = TABLE.get(f"POST {path}")
        kind = "octet-stream" if entry is not None and entry.is_file else "json"
        headers = {"Content-Type": f"application/{kind}", "Origin": own}
        return self.ask("POST", self.login_path + path, json.dumps(record).encode(), headers)

    def follow(self, link: str) -> Self:
        """Open a personal link."""
        return self.led_by(self.ask("GET", link.partition(f":{self.port}")[2]))

    def led_by(self, page: Got) -> Self:
        """Go where a page leads by itself."""
        found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.text)
        assert found, (page.status, page.text)
        self.login_path = re.match(r"/~[\w-]+", html.unescape(found[1]))[0]  # type: ignore[index] # it is there
        return self

    def join(self, code: str, name: str = "", **fields: object) -> Self:
        """Come in by the code."""
        return self.led_by(self.submit("/login", code=code, name=name, **fields))

    # -- at a seat ------------------------------------------------------------------------------

    def waiting(self) -> list[dict[str, Any]]:
        """List what waits in the own seat."""
        page = self.get("/api/exchanges")
        assert page.status == 200, page
        return list(page.json["waiting"])

    def question(self, method: str = "") -> dict[str, Any]:
        """Wait for a request of the practice host."""

        def asked() -> dict[str, Any] | None:
            return next((one for one in self.waiting() if method in {"", one["method"]}), None)

        return until(asked, f"a request {method}")

    def answer(self, asked: Mapping[str, Any], text: str, form: str = "message") -> Got:
        """Send an answer."""
        path = f"/api/exchanges/{asked['session']}/{asked['number']}/reply"
        return self.call(path, {"text": text, "form": form})

    def answer_as_offered(self, method: str = "") -> dict[str, Any]:
        """Send what the seat was started with."""
        asked = self.question(method)
        path = f"/api/exchanges/{asked['session']}/{asked['number']}"
        self.answer_to_the_end(asked, self.get(path).json["document"])
        return asked

    def introduce(self, name: str = "Ann's server") -> None:
        """Answer `initialize` with a name of one's own."""
        asked = self.question("initialize")
        path = f"/api/exchanges/{asked['session']}/{asked['number']}"
        offered = str(self.get(path).json["document"])
        self.answer_to_the_end(asked, offered.replace('"humanmcp"', json.dumps(name)))

    def answer_calls(self, text: str) -> None:
        """Answer the calls of the weather: one is answered, one refused, one names its id."""
        for form, words in (("text", text), ("tool error", text), ("text", f"{text}, id 5")):
            self.answer_to_the_end(self.question("tools/call"), words, form)

    def answer_to_the_end(self, asked: Mapping[str, Any], text: str, form: str = "message") -> None:
        """Send an answer, and wait until it is out: with a whole class that may take a while."""
        page = self.answer(asked, text, form)
        assert page.status in {200, 202}, page
        until(partial(is_over, self, asked), "the end of it")

    def host(self, body: str, **headers: str) -> Got:
        """Speak to the own seat as a host does: with its address and nothing else."""
        path = self.link.partition(f":{self.port}")[2] + "/mcp"
        return Visitor(self.port).ask("POST", path, body.encode(), {**JSON, **headers})

    @property
    def link(self) -> str:
        """The personal link, as the own page shows it."""
        found = re.search(r"http://\S+/s/[\w-]+(?=</pre>)", self.get("/own").text)
        assert found
        return found[0]


def is_over(learner: Visitor, asked: Mapping[str, Any]) -> bool:
    """Return True if a request waits no longer."""
    names = ("session", "number")
    return all(any(one[each] != asked[each] for each in names) for one in learner.waiting())
