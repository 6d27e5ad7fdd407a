"""The kernel's storage: the blocks of a stream, the commit log, and the lock of a directory."""

from penstock.kernel import _native

Blocks = _native.Store
Log = _native.Log
StoreLock = _native.StoreLock
