"""Acks: what samples of acknowledgements tell about consumers."""
