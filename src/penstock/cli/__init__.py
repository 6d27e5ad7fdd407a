"""The command line: flags in, a running server or a short answer out."""
