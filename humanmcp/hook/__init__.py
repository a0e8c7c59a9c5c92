"""Permission prompts of agents that hand them to a program: their hooks."""
