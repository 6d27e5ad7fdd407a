"""What decides whether a consumer exists, and how it is configured."""
