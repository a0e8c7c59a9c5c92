"""`humanmcp demo`: a small, real host that plays one whole session against `humanmcp serve`."""
