"""Where messages are kept: the store's narrow port."""
