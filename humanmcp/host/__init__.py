"""The other seats: the client, the host that drives servers, and the model that decides there."""
