"""Lets tests of this folder import `execution_targets`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
