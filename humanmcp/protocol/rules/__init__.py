"""What is answered without a person, how long a client waits, and what a tap holds."""
