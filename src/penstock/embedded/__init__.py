"""A server inside of another program: on its event loop, or in a thread of its own."""
