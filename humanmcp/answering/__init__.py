"""What every desk asks and does about an exchange that waits: one service under all of them."""
