"""The pages of outgoing messages, and of requests to the client."""
