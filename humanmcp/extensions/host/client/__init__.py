"""The client: sessions with servers, requests, and the answers to a server's questions."""
