"""Put humanmcp into a host's configuration, and say what is wrong with an installation."""
