"""The service that every desk uses to read and answer exchanges."""
