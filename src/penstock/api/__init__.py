"""`$JS.API`: requests in, replies out."""
