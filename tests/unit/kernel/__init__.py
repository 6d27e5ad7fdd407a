"""The kernel by small exact examples; the general statements are in tests/properties."""
