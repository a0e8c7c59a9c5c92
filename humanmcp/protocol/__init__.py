"""The pure core: turn a received line into events, and a draft into a line to send.

It uses no clock, file, socket, thread or log: time and randomness are arguments.
`tests/test_layers.py` checks this.
"""
