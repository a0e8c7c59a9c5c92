"""Answer with a text editor: `in.txt`, `out.txt`, `problems.txt` and `status.txt`."""

from typing import Final

from humanmcp.extensions import Extension

_HERE: Final = "humanmcp.extensions.text_files"
SECTION: Final = "text_files"

EXTENSION: Final = Extension(
    capabilities=(f"{_HERE}.text_desk:TextFileAnswers",),
    setups=(f"{_HERE}.folder_check:FOLDER_CHECK",),
)
