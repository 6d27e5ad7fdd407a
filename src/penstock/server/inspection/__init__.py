"""A store directory, looked at while no server uses it: what is damaged, and mending it."""
