"""`humanmcp room`: a class or a team, each person at a desk of their own, in a browser."""
