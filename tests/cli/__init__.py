"""The command `penstock`, run as people run it: a process, and a server if it needs one."""
