"""The pure core: one line in, events out; one draft in, one line out.

It knows no clock, file, socket, thread or log: time and randomness come in as arguments.
`tests/test_layers.py` holds it to that.
"""
