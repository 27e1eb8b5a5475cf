"""Single requests over a connection that is kept open."""

from __future__ import annotations

import email.utils
import encodings.idna  # noqa: F401 - looking up an address imports it; a fork in the middle would leave that broken
import http.client
import json
import re
import ssl
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any, TypeVar

from ._values import describe, short_repr, text_of

Item = TypeVar("Item")
MAX_ANSWER_BYTES = 4_194_304
RETRYABLE = frozenset((408, 409, 429, 500, 502, 503, 504))


class Failure(Exception):
    """A request without success."""

    def __init__(self, reason: str, status: int = 0, body: Any = None, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.status, self.retry_after = status, retry_after
        self.body: dict[str, Any] = body if isinstance(body, dict) else {}
        # Refusals by the plan have `upgrade_url`; they last until an upgrade or the next month.
        self.is_passing = status == 0 or (status in RETRYABLE and "upgrade_url" not in self.body)
        # A full trace answers 413 with `limit`; a body that is too large has `limit_bytes`.
        self.is_full_trace = status == 413 and "limit" in self.body
        self.is_of_body = status in (400, 413) and not self.is_full_trace


def retry_after_of(header: str | None) -> float:
    """Seconds of a `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3)."""
    try:
        if header is None:
            return 0.0
        if re.fullmatch(r"\s*\d+\s*", header):
            return float(header)
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except Exception:
        return 0.0


class Connection:
    """A connection of one thread, kept open between requests."""

    def __init__(self, base_url: str, api_key: str) -> None:
        self._url = urllib.parse.urlsplit(base_url)
        self._headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
        self._http: http.client.HTTPConnection | None = None

    def send(self, method: str, path: str, body: bytes, key: str | None, timeout: float) -> Any:
        """Returns the parsed answer. Raises Failure."""
        headers = self._headers if key is None else {**self._headers, "Idempotency-Key": key}
        is_used = self._http is not None
        try:
            try:
                response, data = self._exchange(method, path, body, headers, timeout)
            except ConnectionError:
                # The service may have closed an idle connection; a repeat is safe.
                if not is_used:
                    raise
                response, data = self._exchange(method, path, body, headers, timeout)
        except Exception as error:
            raise Failure(f"{self._url.geturl()}: {describe(error)}") from error
        try:
            answer = json.loads(data)
        except ValueError:
            answer = None
        if 200 <= response.status < 300:
            if answer is None:
                raise Failure("the answer was cut or is no JSON")
            return answer
        said = answer if isinstance(answer, dict) else {}
        reason = f"{response.status} {text_of(said.get('error', response.reason), 500)}"
        if said.get("fields"):
            reason += " " + short_repr(said["fields"])
        raise Failure(reason, response.status, said, retry_after_of(response.getheader("Retry-After")))

    def _exchange(
        self, method: str, path: str, body: bytes, headers: dict[str, str], timeout: float
    ) -> tuple[http.client.HTTPResponse, bytes]:
        if self._http is None:
            self._http = self._connect(timeout)
        if self._http.sock is not None:
            self._http.sock.settimeout(timeout)
        try:
            # That of OpenTelemetry stands apart.
            base = self._url.path if path == "/v1/traces" else f"{self._url.path}/api/v1"
            self._http.request(method, base + path, body, headers)
            response = self._http.getresponse()
            data = response.read(MAX_ANSWER_BYTES)
            if response.will_close or not response.isclosed():
                self.close()
            return response, data
        except BaseException:
            self.close()
            raise

    def stream(self, path: str, last_id: str | None) -> Iterator[tuple[str, str, str]]:
        """The events of a stream: kind, id and data. Raises Failure."""
        headers = {**self._headers, "Accept": "text/event-stream"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        # The service sends a line at least every 30 seconds.
        opened = self._connect(90)
        try:
            opened.request("GET", f"{self._url.path}/api/v1{path}", None, headers)
            response = opened.getresponse()
            if response.status != 200:
                raise Failure(
                    f"{response.status} {text_of(response.read(500).decode(errors='replace'), 500)}", response.status
                )
            event, event_id, data = "message", "", ""
            while True:
                line = response.readline(MAX_ANSWER_BYTES)
                if not line:
                    return
                name, _, value = line.decode().rstrip("\r\n").partition(": ")
                if name == "event":
                    event = value
                elif name == "id":
                    event_id = value
                elif name == "data":
                    data = value
                elif not name and data:
                    yield event, event_id, data
                    event, data = "message", ""
        except (OSError, http.client.HTTPException) as error:
            raise Failure(f"{self._url.geturl()}: {describe(error)}") from error
        finally:
            opened.close()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def close(self) -> None:
        connection, self._http = self._http, None
        if connection is not None:
            connection.close()


def sort_out(items: list[Item], failure: Failure) -> tuple[list[Item], list[list[Item]]]:
    """The refused spans of a failed batch, and parts to send again: the others, or halves if the service names none."""
    if not failure.is_of_body or len(items) == 1:
        return items, []
    fields = failure.body.get("fields")
    matches = [re.match(r"spans\.(\d+)(\.|$)", str(field)) for field in fields] if isinstance(fields, dict) else []
    wrong = {int(match.group(1)) for match in matches if match}
    refused = [item for index, item in enumerate(items) if index in wrong]
    if refused:
        return refused, [[item for index, item in enumerate(items) if index not in wrong]]
    middle = (len(items) + 1) // 2
    return [], [items[:middle], items[middle:]]
