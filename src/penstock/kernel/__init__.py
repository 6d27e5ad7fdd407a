"""The one door to the Rust kernel, with its typed stub."""
