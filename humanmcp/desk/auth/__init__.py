"""Who may reach the page."""
