"""Properties: the kernel against slow, obvious models."""
