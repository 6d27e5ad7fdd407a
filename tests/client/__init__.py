"""The SDK against penstock and against the reference."""
