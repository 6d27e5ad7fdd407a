"""penstock: a JetStream-compatible message server in Python with a small Rust kernel."""
