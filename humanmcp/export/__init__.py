"""A recorded session in other forms: to read, to pass on, to run, to test with."""
