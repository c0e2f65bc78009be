"""Settings for every test."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("minmin", deadline=None, derandomize=True, max_examples=50, print_blob=False)
settings.load_profile("minmin")
