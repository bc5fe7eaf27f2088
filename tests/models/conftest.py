"""Lets tests of this folder import `model_server`, a provider on loopback, and use it as a fixture."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "server"))

from model_server.fixtures import model_server

__all__ = ["model_server"]
