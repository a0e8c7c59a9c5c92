"""Where exchanges wait for a person."""
