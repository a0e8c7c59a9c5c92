"""JSON-RPC messages as bytes and as text; the text of a person is never written anew."""
