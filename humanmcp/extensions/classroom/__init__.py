"""The classroom: lessons with a host that checks the answers, and rooms where each person has one.

`demo` is one lesson of one person, `room` a desk for each person, `lite` one in a browser alone.
"""

from typing import Final

from humanmcp.extensions import Extension

_HERE: Final = "humanmcp.extensions.classroom"

EXTENSION: Final = Extension(
    commands={
        "first": {"demo": f"{_HERE}.demo.command"},
        "teaching": {"room": f"{_HERE}.room.command", "lesson": f"{_HERE}.demo.lesson_command"},
    },
    sites=(f"{_HERE}.lite.pages", f"{_HERE}.room.wall", f"{_HERE}.room.pages"),
    styles=("classroom.css",),
    desks=(f"{_HERE}.demo.beside:LessonBeside",),
)
