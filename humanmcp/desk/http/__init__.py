"""What every page and every call of the interface needs."""
