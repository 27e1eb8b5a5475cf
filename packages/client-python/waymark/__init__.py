"""Records traces of AI agents in the background and sends them to Waymark."""

from ._api import Api
from ._client import Waymark, current_span, observe
from ._labels import propagate
from ._queue import Stats, WaymarkLoss
from ._records import Span, Trace
from ._requests import Failure as WaymarkFailure
from ._wrappers import wrap_anthropic, wrap_openai

__all__ = [
    "Api", "Span", "Stats", "Trace", "Waymark", "WaymarkFailure", "WaymarkLoss",
    "current_span", "observe", "propagate", "wrap_anthropic", "wrap_openai",
]  # fmt: skip
__version__ = "0.1.0"
