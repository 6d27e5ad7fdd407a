"""Recount: counters counted again from their increments, through every tier of sources."""
