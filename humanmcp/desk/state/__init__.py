"""What the page knows of the inbox."""
