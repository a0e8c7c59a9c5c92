"""The pages of outgoing messages, of taps, and of requests to the client."""
