"""Versions: our own, and that of the reference server whose behaviour is promised.

Clients decide by the reference's version and API level what they may use, so INFO carries those;
penstock's own version stands beside them under its own name.
"""

PENSTOCK_VERSION = "0.1.0"
REFERENCE_VERSION = "2.15.1"
API_LEVEL = 5
PROTOCOL = 1
