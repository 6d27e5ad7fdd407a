"""What Python has to know of the commit log's files; penstock-log's `format.rs` decides it."""

SECTOR_BYTES = 512  # a segment's header takes one, and every group begins at one
GROUP_MAGICS = (b"PGR2", b"PGRP")  # with checks behind the entries, and without
CHUNK_BYTES, CHECK_BYTES = 1024, 8  # of entries, and of the check that each chunk has
