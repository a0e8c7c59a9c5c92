"""Between a real client and a real server: see, hold, change, answer instead."""
