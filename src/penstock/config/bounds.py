"""Every bound on the configuration text, each with its reason.

A configuration is written by the operator, but a wrong file (a log, a disk image, a file that
includes itself) must end in one clear line, never in a RecursionError or a process that hangs.
"""

from penstock.model.limits import MIB

CONFIG_BYTES_MAX = 4 * MIB  # all files together: fifty thousand users fit, a log file does not
NESTING_MAX = 64  # blocks in blocks; real files stay below ten, Python's stack allows far more
INCLUDE_DEPTH_MAX = 16  # files that include files
VARIABLE_DEPTH_MAX = 16  # environment variables that name environment variables
PROBLEMS_MAX = 50  # reported for one configuration; a reader fixes the first ones first
EXCERPT_CHARACTERS_MAX = 24  # of the text quoted in a message: enough to find it, not to leak it
INTEGER_MAX = 2**63 - 1  # the reference keeps 64-bit integers
INTEGER_DIGITS_MAX = 19  # more can not fit, and Python's own limit would raise its own error
PORT_MAX = 65_535  # TCP
LAME_DUCK_DURATION_MIN_NS = 30_000_000_000  # the reference's minimum
AUTH_TIMEOUT_HIGH_NS = 60_000_000_000  # above it the reference warns: likely an unquoted unit
