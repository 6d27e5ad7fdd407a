"""Subject to who: accounts, their subscriptions and the server's own services."""
