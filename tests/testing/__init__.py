"""The pytest plugin, as projects use it."""
