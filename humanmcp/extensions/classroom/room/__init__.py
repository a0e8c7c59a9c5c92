"""`humanmcp room`: a class or a team in one place, each person with a desk in the browser."""
