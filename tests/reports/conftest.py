"""Lets tests of this folder import `report_examples`, and `two_looks` of the analysis."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
sys.path.insert(0, str(Path(__file__).parent))
