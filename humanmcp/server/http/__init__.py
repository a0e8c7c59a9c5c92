"""Being the server over Streamable HTTP: many sessions in one process. Imported when asked for."""
