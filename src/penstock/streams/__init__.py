"""Streams: what one is asked to be, what it may become, and what it makes of messages."""
