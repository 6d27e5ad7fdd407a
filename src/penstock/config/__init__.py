"""Options: the NATS configuration language, its schema, and their defaults."""
