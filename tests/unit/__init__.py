"""One part at a time, without sockets."""
