"""Records traces of AI agents in the background and sends them to Waymark."""

from ._client import Waymark, current_span, observe
from ._labels import propagate
from ._queue import Stats, WaymarkLoss
from ._records import Span, Trace

__all__ = ["Span", "Stats", "Trace", "Waymark", "WaymarkLoss", "current_span", "propagate", "observe"]
__version__ = "0.1.0"
