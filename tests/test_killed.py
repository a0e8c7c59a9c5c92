"""A command that writes files is killed between any two steps, and in the middle of a write.

Each file is then as it was before or as it should become, never half of it, and the command can be
given again. What the inbox does at such a moment is in `inbox/test_crashes.py`.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from humanmcp.cli import commands
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.decisions import verify_decisions
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from tests.support.living_on import ANSWERED, DECISIONS, ORDERS, PORT, ids_of
from tests.support.opened_room import ACTS
from tests.support.postgres_server import PostgresServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

ROOT: Final = Path(__file__).parent.parent
MORE_CALLS_THAN_ANY: Final = 60
SIZES: Final = (0, 40, 4096)

JSON: Final = (
    '{\n  // mine\n  "servers": {\n    "dice": {"command": "python", "args": ["dice.py"]}\n  }\n}\n'
)
PLAIN: Final = (
    '{\n  "mcpServers": {\n    "dice": {"command": "python", "args": ["dice.py"]}\n  }\n}\n'
)
TOML: Final = '# mine\n[mcp_servers.dice]\ncommand = "python"\nargs = ["dice.py"]\n'
BOOK: Final = '# mine\n[[rules]]\ntool = "get"\ntext = "cloudy"\n'
LOG: Final = (
    '[2026-11-20 10:00:00.000] IN: {"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    '[2026-11-20 10:00:00.001] OUT: {"jsonrpc":"2.0","id":1,"result":{}}\n'
)
CITY: Final = b'"location":"Tokyo"'
OLD_EXPORT: Final = "an export of before\n" * 40


class Deed(NamedTuple):
    """A command, and the files that are there before it; what else it makes is found out."""

    words: tuple[str, ...]
    before: dict[str, str]
    first: tuple[str, ...] = ()
    """A command that is given before it and not killed."""


def wrapping(command: str, *words: str, first: tuple[str, ...] = ()) -> Deed:
    """Return a deed of `wrap` or `unwrap` on the files of two hosts."""
    files = {".cursor/mcp.json": PLAIN, ".gemini/settings.json": PLAIN}
    return Deed((command, *words), files, first)


DEEDS: Final = {
    "config, a new file": Deed(("config", "cursor", "--write"), {}),
    "config, JSON with comments": Deed(
        ("config", "vscode", "--path", "mcp.json", "--write"), {"mcp.json": JSON}
    ),
    "config, TOML": Deed(
        ("config", "codex", "--path", "config.toml", "--write"), {"config.toml": TOML}
    ),
    "config --remove": Deed(
        ("config", "cursor", "--path", "mcp.json", "--remove"),
        {"mcp.json": PLAIN},
        ("config", "cursor", "--path", "mcp.json", "--write"),
    ),
    "wrap": wrapping("wrap", "cursor", "dice"),
    "unwrap": wrapping("unwrap", "cursor", "dice", first=("wrap", "cursor", "dice")),
    "wrap --all": wrapping("wrap", "--all", "--yes"),
    "unwrap --all": wrapping("unwrap", "--all", "--yes", first=("wrap", "--all", "--yes")),
    "export, a new file": Deed(("export", "a.log", "-o", "a.txt"), {"a.log": LOG}),
    "export over a file": Deed(
        ("export", "a.log", "--format", "html", "-o", "a.html"),
        {"a.log": LOG, "a.html": OLD_EXPORT},
    ),
    "book, from a recording": Deed(("book", "--from", "a.log", "-o", "b.toml"), {"a.log": LOG}),
    "save a rule": Deed(("save a rule", "book.toml"), {"book.toml": BOOK}),
    "save a rule, a new book": Deed(("save a rule", "book.toml"), {}),
    "save an answer": Deed(("save an answer", "."), {}),
}

OF_PAGES: Final = {"save a rule": "book", "save an answer": "inbox"}
"""The command that is there where a page does this."""


class Killer:
    """Runs commands that are killed; see `tests/support/killed_process.py`."""

    def __init__(self) -> None:
        """Start the process that all of them are forks of."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.killed_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )

    def run(
        self,
        folder: Path,
        words: tuple[str, ...],
        but: str = "",
        /,
        *,
        call: int = 0,
        size: int = -1,
    ) -> bool:
        """Run a command in a folder, which is its user's home too; return True if it was killed.

        Nothing counts that happens in a folder `but`.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        order: dict[str, Any] = {"words": words, "under": str(folder), "call": call, "size": size}
        order["but"] = but
        order["environment"] = {"HOME": str(folder), "HUMANMCP_HOME": str(folder / "inbox")}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["killed"] or answer["status"] in (0, 1, 2), answer  # 2: nothing left to do
        return bool(answer["killed"])

    def close(self) -> None:
        """End it."""
        self.process.communicate()


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    """One process for all commands: it has imported everything already."""
    one = Killer()
    yield one
    one.close()


def files_in(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder that has a name for people: no temporary one, no backup."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(".bak") and not is_temporary(path)
    }


def is_temporary(path: Path) -> bool:
    """Return True for a file that has no name yet: nothing reads it, whatever is in it."""
    return path.name.startswith(".")


def prepared(folder: Path, deed: Deed, killer: Killer) -> Path:
    """Make a folder with the files that are there before."""
    for name, text in deed.before.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    folder.mkdir(exist_ok=True)
    if deed.first:
        assert not killer.run(folder, deed.first)
    return folder


def moments(tmp_path: Path) -> Iterator[tuple[dict[str, int], Path]]:
    """Name each moment at which a command is killed, with a new folder for it."""
    for size in SIZES:
        yield {"size": size}, tmp_path / f"size-{size}"
    for call in range(1, MORE_CALLS_THAN_ANY):
        yield {"call": call}, tmp_path / f"call-{call}"
    raise AssertionError(f"more than {MORE_CALLS_THAN_ANY} calls")


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, deed in DEEDS.items()
        if OF_PAGES.get(deed.words[0], deed.words[0]) in commands()
    ],
)
def test_a_command_that_is_killed_leaves_each_file_as_it_was_or_whole(
    name: str, killer: Killer, tmp_path: Path
) -> None:
    """At every call that changes a file, and when a write stops in its middle."""
    deed = DEEDS[name]
    model = prepared(tmp_path / "model", deed, killer)
    old = files_in(model)
    assert not killer.run(model, deed.words)
    new = files_in(model)
    assert new != old
    for moment, place in moments(tmp_path):
        folder = prepared(place, deed, killer)
        backups = {path.read_bytes() for path in folder.rglob("*.bak")}
        was_killed = killer.run(folder, deed.words, **moment)
        found = files_in(folder)
        for file in old.keys() | new.keys():
            text = found.pop(file, None)
            texts = [place_free(one, folder, model) for one in (old.get(file), new.get(file))]
            assert text in texts, f"{file}, killed at {moment}"
        assert found == {}, f"killed at {moment}"
        whole = set(old.values()) | backups
        for copy in folder.rglob("*.bak"):
            assert copy.read_bytes() in {place_free(one, folder, model) for one in whole}, moment
        if "call" in moment and not was_killed:
            return
        if files_in(folder).keys() != new.keys() or not deed.words[0].startswith("save"):
            killer.run(folder, deed.words)
            again = files_in(folder)
            assert again == {file: place_free(text, folder, model) for file, text in new.items()}
        shutil.rmtree(folder)


def place_free(text: bytes | None, folder: Path, model: Path) -> bytes | None:
    """Return what a file of the model would say in another folder."""
    return None if text is None else text.replace(str(model).encode(), str(folder).encode())


def test_a_model_that_is_recorded_has_each_turn_whole_whenever_the_host_is_killed(
    killer: Killer, tmp_path: Path
) -> None:
    """`host --record FILE` leaves the turns that were taken; none of them is half a line."""
    turns = [json.dumps({"content": [{"type": "text", "text": text}]}) + "\n" for text in "ab"]
    for moment, folder in moments(tmp_path):
        folder.mkdir()
        (folder / "model.jsonl").write_text("".join(turns), encoding="utf-8")
        was_killed = killer.run(folder, ("record", "model.jsonl", "kept.jsonl"), **moment)
        kept = folder / "kept.jsonl"
        found = kept.read_text(encoding="utf-8") if kept.exists() else ""
        assert found in ("", turns[0], "".join(turns)), moment
        if "call" in moment and not was_killed:
            assert found == "".join(turns)
            return


def test_a_forgetting_that_is_killed_can_be_given_again_and_leaves_nothing(
    killer: Killer, tmp_path: Path
) -> None:
    """At every call; the rest of the session stays readable, and the words are gone at last."""
    folder, played = tmp_path / "home", tmp_path / "played"
    folder.mkdir()
    book = ROOT / "samples" / "weather.toml"
    assert not killer.run(folder, ("demo", "--book", str(book)))
    shutil.copytree(folder, played)
    words = ("forget", "a/3", "--yes")
    for moment, _place in moments(tmp_path):
        shutil.rmtree(folder)
        shutil.copytree(played, folder)  # the session names its folder of text files
        was_killed = killer.run(folder, words, **moment)
        assert not killer.run(folder, words)
        texts = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        left = [path for path, text in texts.items() if b"sunny" in text or CITY in text]
        assert left == [], f"killed at {moment}"
        (transcript,) = folder.rglob("transcript.jsonl")
        frames = [json.loads(line) for line in transcript.read_bytes().splitlines()]
        assert [frame["seq"] for frame in frames] == list(range(1, len(frames) + 1)), moment
        assert not killer.run(folder, ("export", "a", "-o", "a.txt"))
        if "call" in moment and not was_killed:
            return


def test_a_session_over_http_goes_on_in_the_next_process_whenever_one_is_killed(
    killer: Killer, tmp_path: Path
) -> None:
    """Before and after each step; each request has come once, and has one answer."""
    for call in range(1, 400):
        folder = tmp_path / f"call-{call}"
        folder.mkdir()
        was_killed = killer.run(folder, ("live on", "inbox"), "tmp", call=call)
        assert not killer.run(folder, ("live on", "inbox"))
        inbox = FolderInbox(folder / "inbox")
        (facts,) = inbox.orphaned_sessions(str(PORT))
        frames = [*inbox.frames(facts.name)]
        assert sorted(ids_of(frames, Direction.IN)) == [1, 2, 3, 4, 5, 6, 7], call
        assert sorted(ids_of(frames, Direction.OUT)) == sorted(ANSWERED), call
        said = [frame.text for frame in frames]
        assert {one: said.count(one) for one in ORDERS} == dict.fromkeys(ORDERS, 1), call
        assert [frame.seq for frame in frames] == list(range(1, len(frames) + 1)), call
        answered = inbox.items(facts.name, ExchangeState.ANSWERED)
        assert [one.id for one in answered] == ["2", "3", "7", "6"], call
        assert all(one.answer and "sunny" in one.answer.line for one in answered), call
        told = {one.id: one.answer.action for one in answered if one.answer and one.answer.action}
        assert told == {str(one): action for one, (action, _text) in DECISIONS.items()}, call
        records = [frame.decision for frame in frames if frame.decision]
        assert not [*verify_decisions("".join(f"{one}\n" for one in records).encode())], call
        decided = sorted(
            (one["exchange"], one["by"], one["action"]) for one in map(json.loads, records)
        )
        number = {int(one.id): one.key.number for one in answered}
        assert decided == sorted(
            (number[one], "desk", DECISIONS.get(one, ("answer",))[0]) for one in number
        ), call
        cancelled = inbox.items(facts.name, ExchangeState.CANCELLED)
        assert [one.id for one in cancelled] == ["5"], call
        shutil.rmtree(folder)
        if not was_killed:
            return
    raise AssertionError("more steps than any session has")


@pytest.mark.parametrize("act", sorted({*ACTS} - {"open"}))
def test_each_learner_has_their_request_again_whenever_the_room_is_killed(
    act: str, killer: Killer, tmp_path: Path
) -> None:
    """Before each write of a session's beginning, its end, and its next beginning."""
    kill_a_room(act, killer, tmp_path)


@pytest.mark.timeout(400)  # some forty kills, each between three processes with a database
@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("act", ["join", "restart"])
def test_a_seat_in_a_database_has_its_request_again_whenever_the_room_is_killed(
    act: str, killer: Killer, tmp_path: Path, postgres: PostgresServer
) -> None:
    """Before each statement, too."""
    kill_a_room(act, killer, tmp_path, postgres.url)


def kill_a_room(act: str, killer: Killer, tmp_path: Path, *database: str) -> None:
    """Kill a room before each write of an act; the next process must end by itself."""
    for call in range(1, 400):
        folder = tmp_path / f"call-{call}"
        folder.mkdir()
        if act != "join":
            assert not killer.run(folder, ("open a room", "inbox", "join", *database))
        was_killed = killer.run(folder, ("open a room", "inbox", act, *database), "tmp", call=call)
        assert not killer.run(folder, ("open a room", "inbox", "open", *database)), call
        shutil.rmtree(folder)
        if not was_killed:
            return
    raise AssertionError("more writes than any act has")
