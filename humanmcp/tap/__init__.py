"""The tap: between a real client and a real server, to see, hold, change and replace."""
