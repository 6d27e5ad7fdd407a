"""Tables: a KV bucket as a table of what it holds, and a table of what has happened to it."""
