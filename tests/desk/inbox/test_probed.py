"""A client that has only asked what the server can do is connected all the same."""

import json
from pathlib import Path

from humanmcp.protocol.tables import versions
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until


def test_a_client_that_only_asked_server_discover_is_named(tmp_path: Path) -> None:
    """The page says who is there; it said that no host was connected."""
    home = tmp_path / "home"
    meta = {
        versions.META_VERSION: versions.R2026_07,
        versions.META_CLIENT: {"name": "prober", "version": "1"},
        versions.META_CAPABILITIES: {},
    }
    discover = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}
    with Desking(home, "--lang", "en") as desk:
        assert "No host is connected" in desk.page("/")
        with Serving(home) as host:
            host.say(json.dumps(discover))
            assert json.loads(host.hear())["result"]
            page = until(lambda: page if "prober" in (page := desk.page("/")) else None, "its name")
            assert "No host is connected" not in page
