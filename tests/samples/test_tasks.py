"""`samples/tasks.toml` plays tasks: each call keeps a record, which the next requests find."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.samples.test_conformance import Suite
from tests.samples.test_servers import SAMPLES
from tests.support.serve_process import Serving
from tests.support.verdicts import R2025


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Suite]:
    """Open a session with a server that follows the book."""
    with Suite(
        Serving(tmp_path / "home", "--auto", "--book", str(SAMPLES / "tasks.toml")), R2025
    ) as suite:
        yield suite


def test_a_task_is_begun_asked_for_fetched_cancelled_and_listed(client: Suite) -> None:
    """Every answer passes the check; one task knows nothing of the other."""

    def begun(city: str) -> str:
        arguments = {"city": city}
        made = client.result("tools/call", name="forecast", arguments=arguments, task={})
        return str(made["task"]["taskId"])

    def status(task: str) -> str:
        return str(client.result("tasks/get", taskId=task)["status"])

    osaka, kyoto, nara = begun("Osaka"), begun("Kyoto"), begun("Nara")
    assert len({osaka, kyoto, nara}) == 3
    assert [status(osaka), status(osaka)] == ["working", "completed"]
    assert client.result("tasks/cancel", taskId=kyoto)["status"] == "cancelled"
    assert [status(kyoto), status(kyoto)] == ["cancelled", "cancelled"]
    for task, city in ((osaka, "Osaka"), (nara, "Nara")):  # Nara's still works: it waits for it
        found = client.result("tasks/result", taskId=task)["content"]
        assert found == [{"type": "text", "text": f"The weather in {city}: sunny"}]
    refused = client.ask("tasks/cancel", taskId=nara)["error"]
    assert (refused["code"], refused["message"]) == (-32602, "The task has ended: completed")
    assert client.ask("tasks/get", taskId="unknown")["error"]["code"] == -32602
    listed = {one["taskId"]: one["status"] for one in client.result("tasks/list")["tasks"]}
    assert listed == {osaka: "completed", kyoto: "cancelled", nara: "completed"}
