"""Real processes, real kills, real disks: what was acknowledged is there afterwards."""
