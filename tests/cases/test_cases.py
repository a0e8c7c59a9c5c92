"""What people ran into, and what the check says of it: see `cases.toml`."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.cli import main

HERE: Final = Path(__file__).parent
CASES: Final[dict[str, Any]] = tomllib.loads((HERE / "cases.toml").read_text("utf-8"))


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speak English, whatever the machine speaks."""
    monkeypatch.setenv("HUMANMCP_LANG", "en")


def test_every_input_has_its_row() -> None:
    """And every row its input."""
    assert set(CASES) == {file.name for file in (HERE / "inputs").iterdir()}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_a_case(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All of its problems, the words that help, and none that lead astray."""
    case, file = CASES[name], str(HERE / "inputs" / name)
    status = main(["check", file])
    said = "".join(capsys.readouterr())
    assert [words for words in case.get("says", ()) if words not in said] == []
    assert [words for words in case.get("never", ()) if words in said] == []
    main(["check", "--json", file])
    out = capsys.readouterr().out
    problems = json.loads(out)["problems"] if out else []
    shown = [one for one in problems if one["level"] not in ("hint", "repaired")]
    assert sorted(f"{one['line']} {one['code']}" for one in shown) == sorted(case["codes"])
    if out:
        assert (status == 1) == any(one["level"] == "error" for one in shown)
