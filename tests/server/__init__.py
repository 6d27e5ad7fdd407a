"""The whole server as a process."""
