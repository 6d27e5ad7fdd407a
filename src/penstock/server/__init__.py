"""The only package with sockets, files, tasks and a clock."""
