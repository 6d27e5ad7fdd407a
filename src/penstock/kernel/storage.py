"""The kernel's storage: blocks, recent ids, the commit log, the lock of a directory, archives."""

from penstock.kernel import _native

Blocks = _native.Store
Checkpoint = _native.Checkpoint
RecentIds = _native.RecentIds
Log = _native.Log
StoreLock = _native.StoreLock
S2Reader = _native.S2Reader
ForeignBlocks = _native.ForeignBlocks
s2_start = _native.s2_start
s2_chunk = _native.s2_chunk
EntryDecoder = _native.EntryDecoder
encode_entry = _native.encode_entry
