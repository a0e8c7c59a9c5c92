"""The desks of one inbox as a person uses each: page, terminal and text files, told alike."""

import json
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from humanmcp.cli import main
from humanmcp.inbox.contract import Key
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

MESSAGE, TEXT, RESULT = TextForm.MESSAGE, TextForm.TEXT, TextForm.RESULT
_FLAGS = {
    MESSAGE: "--message",
    RESULT: "--result",
    TEXT: "--text",
    TextForm.TOOL_ERROR: "--tool-error",
}
_SEVERAL_LINES = "J51"  # our own way to lay out a draft: the terminal does not mention it


class Told(NamedTuple):
    """What a desk says of a reply: what became of it, the codes of its problems, the line."""

    became: str
    codes: tuple[str, ...] = ()
    line: str = ""


class Seat(Protocol):
    """A desk."""

    def send(self, key: Key, text: str, form: TextForm = MESSAGE, *, anyway: bool = False) -> Told:
        """Send a text and return what the desk says of it."""


class Page:
    """The page, by the interface that its scripts use."""

    def __init__(self, desk: Desking) -> None:
        """Use a running desk."""
        self.desk = desk

    def send(self, key: Key, text: str, form: TextForm = MESSAGE, *, anyway: bool = False) -> Told:
        """Press Send, below the message that is shown."""
        path = f"/api/exchanges/{key.session}/{key.number}"
        shown = self.desk.get(path)["digest"]
        body = {"text": text, "form": form.value, "anyway": anyway, "shown": shown}
        said = self.desk.post(f"{path}/reply", body).json
        return Told(said["became"], codes(said["problems"]), said["line"])


class Terminal:
    """The commands of the terminal."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Use an inbox folder."""
        self.home, self.capsys = home, capsys

    def run(self, *words: str) -> str:
        """Run a command and return what it prints."""
        self.capsys.readouterr()
        main([*words, "--home", str(self.home), "--json"])
        return self.capsys.readouterr().out

    def name(self, key: Key) -> str:
        """Return what a person types for an exchange."""
        listed = json.loads(self.run("inbox", "--all"))["items"]
        return next(
            f"{one['letter']}/{one['number']}"
            for one in listed
            if (one["session"], one["number"]) == key
        )

    def send(self, key: Key, text: str, form: TextForm = MESSAGE, *, anyway: bool = False) -> Told:
        """Answer on the command line."""
        given = text
        if form in (MESSAGE, RESULT):
            file = self.home.parent / "given.json"
            file.write_text(text, encoding="utf-8")
            given = str(file)
        flags = ("--send-anyway",) if anyway else ()
        said = json.loads(self.run("answer", self.name(key), _FLAGS[form], given, *flags))
        return Told(said["became"], codes(said["problems"]), said.get("line", ""))


class Files:
    """`out.txt` and `problems.txt`, where nothing wrong goes out."""

    def __init__(self, host: Serving) -> None:
        """Use the text files of a session."""
        self.host = host

    def send(self, key: Key, text: str, form: TextForm = MESSAGE, *, anyway: bool = False) -> Told:
        """Save the text; what is wrong stands in `problems.txt`."""
        assert form is MESSAGE
        assert key.number
        assert not anyway
        self.host.type(text)
        # What may be sent is remarked on a moment before it is taken.
        until(lambda: self.host.taken() or "Not sent" in self.host.complaint(), "out.txt is judged")
        if not self.host.taken():
            return Told("blocked")
        return Told("sent", (), self.host.hear())


def codes(diagnostics: list[dict[str, object]]) -> tuple[str, ...]:
    """Return the codes of problems, but for what our own layout brings about."""
    return tuple(str(one["code"]) for one in diagnostics if one["code"] != _SEVERAL_LINES)
