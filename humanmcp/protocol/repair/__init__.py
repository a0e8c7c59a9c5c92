"""Read what is nearly JSON, as people type it."""
