"""The other seats: client, host loop, and who plays the model."""
