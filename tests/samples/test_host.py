"""The sample configuration and the sample model of a host."""

import sys
from pathlib import Path
from typing import Final

import pytest

from humanmcp.common.child import ChildCommand
from humanmcp.extensions.host.config import ServerEntry, read_config
from humanmcp.extensions.host.models.script import ScriptModel
from tests.extensions.host.hosting import table

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "samples" / "host"


def test_the_sample_model_plays_with_the_sample_servers() -> None:
    """Text and a call, then text; with the entries of the sample configuration."""
    entries = [
        ServerEntry(
            one.name, ChildCommand((sys.executable, *one.target.words[1:]), folder=str(ROOT))
        )
        for one in read_config(FOLDER / "mcp.json")
        if isinstance(one.target, ChildCommand) and one.target.words[0] == "python"
    ]
    assert [one.name for one in entries] == ["dice", "calculate"]
    model = ScriptModel.read(FOLDER / "dice.jsonl")
    with table(*model.turns, entries=entries) as laid:
        assert laid.loop.run("Please roll") == "There you are."
        assert [tool.tool for tool in laid.watching.called] == ["dice"]


@pytest.mark.parametrize("name", ["calculate", "faulty-dice"])
def test_every_lesson_says_how_to_start_it(name: str) -> None:
    """Its flags in the first line, its command in a comment."""
    first, *rest = (ROOT / "samples/lessons" / f"{name}.txt").read_text("utf-8").splitlines()
    assert first.startswith("#! --protocol-version")
    assert any(f"--script samples/lessons/{name}.txt" in line for line in rest)
