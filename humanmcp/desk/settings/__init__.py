"""The pages of settings, and of connecting a host."""
