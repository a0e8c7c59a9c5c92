"""A transcript as log, Markdown, Mermaid, HTML, a runnable server, a test."""
