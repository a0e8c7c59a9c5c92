"""The other roles: the client, the host that drives servers, and the model that decides there."""
