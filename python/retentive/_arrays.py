"""Importing this finds numpy's interface for the native module: a fork waits for imports, and for nothing else."""

from retentive import _core
from retentive._whole import import_whole

import_whole("numpy")
_core.find_arrays()
