"""Real clients, unchanged, against a real server."""
