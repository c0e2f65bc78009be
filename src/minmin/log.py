"""The logger of minmin, which is silent until a program asks for its messages."""

import logging

LOG = logging.getLogger("minmin")
"""INFO for the stages of a fit and what "auto" chooses; WARNING for what was lost, restarted or asked again."""
LOG.addHandler(logging.NullHandler())
