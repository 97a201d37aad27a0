"""Lets the tests here import their helper modules (`reference`, `record_torch`, `onnx_adapter`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
