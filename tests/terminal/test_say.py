"""`humanmcp say` tells what the client made of it."""

import threading
from pathlib import Path

import pytest

from humanmcp.cli import main
from tests.server.test_serve import INITIALIZE
from tests.support.serve_process import Serving


def test_the_verdict_on_the_client_stands_in_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As soon as it lists again; and after the time that it was given, that it did not."""
    words = ["say", "--list-changed", "tools", "--home", str(tmp_path / "home"), "--lang", "en"]
    with Serving(tmp_path / "home", "--handshake", "book") as host:
        host.say(INITIALIZE)
        host.hear()
        host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        assert main([*words, "--watch", "0"]) == 0
        assert "the client has not sent tools/list again." in capsys.readouterr().out
        host.hear()
        watching = threading.Thread(target=main, args=([*words, "--watch", "20"],))
        watching.start()
        host.hear()
        host.say('{"jsonrpc":"2.0","id":9,"method":"tools/list"}')
        watching.join()
        assert "The client sent tools/list again after" in capsys.readouterr().out
