"""Importing this finds numpy's interface for the native module: a fork waits for imports, and for nothing else."""

from retentive import _core

_core.find_arrays()
