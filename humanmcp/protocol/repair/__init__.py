"""Read the almost-JSON that people type."""
