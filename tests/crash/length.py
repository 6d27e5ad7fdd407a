"""Short runs by default; `make campaign` sets the figures for long ones."""

import os

KILLS = int(os.environ.get("PENSTOCK_KILLS", "2"))
CUTS = int(os.environ.get("PENSTOCK_CUTS", "1"))
DAMAGES = int(os.environ.get("PENSTOCK_DAMAGES", "1"))
SEED = int(os.environ.get("SEED", "1"))
IS_LONG = "PENSTOCK_KILLS" in os.environ
