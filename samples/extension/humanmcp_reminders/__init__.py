"""Reminds a person of requests that wait for a long time."""

from humanmcp.extensions import Extension, Link

EXTENSION = Extension(
    commands={"answering": {"waiting": "humanmcp_reminders.command"}},
    capabilities=("humanmcp_reminders.reminders:Reminders",),
    pages=("humanmcp_reminders.page",),
    links=(Link("menu", "/reminders", "reminders", "title"),),
)
