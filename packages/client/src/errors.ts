/** The base of all errors of the SDK. */
export class WaymarkError extends Error {
  override name = "WaymarkError";
}

export interface Refusal {
  readonly status: number;
  /** The answer's `error`, or the status text of an answer in another form, such as a proxy's. */
  readonly error: string;
  /** With status 400, a message per wrong field, such as `spans.3.started_at`. */
  readonly fields: Readonly<Record<string, string>>;
  /** The answer's `X-Request-Id`, for problem reports. */
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  /** Attempts before the last may have reached the service, too. */
  readonly attempts: number;
  /** The parsed JSON, such as `{error, limit, current, upgrade_url}`, or the text of the answer. */
  readonly body: unknown;
}

/** The service refused the call. */
export class WaymarkApiError extends WaymarkError implements Refusal {
  override name = "WaymarkApiError";
  readonly status: number;
  readonly error: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  readonly attempts: number;
  readonly body: unknown;

  constructor(refusal: Refusal) {
    const fields = Object.entries(refusal.fields).map(([field, message]) => `${field}: ${message}`);
    super(`${refusal.status} ${refusal.error}${fields.length > 0 ? ` (${fields.join(", ")})` : ""}`);
    this.status = refusal.status;
    this.error = refusal.error;
    this.fields = refusal.fields;
    this.requestId = refusal.requestId;
    this.retryAfterMs = refusal.retryAfterMs;
    this.attempts = refusal.attempts;
    this.body = refusal.body;
  }
}

/** No answer: the service is unreachable, the connection broke, or the time was up. `cause` has the reason. */
export class WaymarkConnectionError extends WaymarkError {
  override name = "WaymarkConnectionError";
}

/** Recorded traces, spans or their ends could not be sent; `cause` has the reason. */
export class WaymarkLossError extends WaymarkError {
  override name = "WaymarkLossError";
  readonly traces: number;
  readonly spans: number;

  /** A trace counts as lost if only its end is lost; likewise a span. */
  constructor(message: string, lost: { traces: number; spans: number }, options?: ErrorOptions) {
    super(message, options);
    this.traces = lost.traces;
    this.spans = lost.spans;
  }
}
