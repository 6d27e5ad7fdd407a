"""Side by side with the reference server: see benchmarks/README.md."""
