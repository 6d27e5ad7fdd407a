"""Mirrors and sources on a running server: who reads whom, and how far."""
