"""Bytes and frames: what one client connection may say and what it is told."""
