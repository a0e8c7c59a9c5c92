"""JSON-RPC messages as bytes and as text; a person's text is never re-serialised."""
