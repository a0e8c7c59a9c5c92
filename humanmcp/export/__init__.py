"""A recorded session in other forms: to read, to send to somebody, to run, to test with."""
