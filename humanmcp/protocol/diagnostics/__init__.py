"""The problems of a text: kind, place and fix."""
