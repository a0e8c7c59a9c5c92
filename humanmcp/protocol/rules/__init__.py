"""What is answered without a person, and how long a client waits."""
