"""Records traces of AI agents in the background and sends them to Waymark."""

from ._client import Waymark, annotate, current_span, traced
from ._labels import propagate
from ._queue import Stats, WaymarkLoss
from ._records import Span, Trace

__all__ = ["Span", "Stats", "Trace", "Waymark", "WaymarkLoss", "annotate", "current_span", "propagate", "traced"]
__version__ = "0.1.0"
