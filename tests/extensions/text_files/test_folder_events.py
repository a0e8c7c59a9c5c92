"""The system tells what is saved in the folder of the text files."""

import threading
from pathlib import Path

from humanmcp.extensions.text_files.folder_events import FolderEvents
from tests.support.waiting import until


class LateEvents(FolderEvents):
    """Events of a folder that begin only when nobody wants them any more."""

    def begin(self) -> None:
        """Wait for the end first."""
        until(lambda: self._closed, "the end")
        super().begin()


def test_events_of_a_folder_that_still_begin_are_waited_for_at_the_end(tmp_path: Path) -> None:
    """A Python that ends while their thread imports a library crashes now and then."""
    events = LateEvents.start(tmp_path, (), lambda: None)
    assert events is not None
    events.close()
    assert "folder-events" not in {thread.name for thread in threading.enumerate()}
