"""`python -m retentive`: the command line."""

import sys

from retentive.cli import main

if __name__ == "__main__":
    sys.exit(main())
