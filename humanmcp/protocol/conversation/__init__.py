"""The state of a conversation: requests, events, transcript."""
