"""The display of messages and sessions on the page."""
