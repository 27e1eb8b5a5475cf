/** Anything that goes wrong between this client and the service. */
export class WaymarkError extends Error {
  override name = "WaymarkError";
}

/** What the service said when it refused. */
export interface Refusal {
  readonly status: number;
  /** The answer's `error`, or what stands in for it where something else than the service answered. */
  readonly error: string;
  /** With status 400: a message for each wrong field, such as `spans.3.started_at`. */
  readonly fields: Readonly<Record<string, string>>;
  /** The answer's `X-Request-Id`: name it when you report a problem. */
  readonly requestId: string | null;
  /** How long the service asks to wait. */
  readonly retryAfterMs: number | null;
  /** How many attempts were made; those before the last may have reached the service unknown to us. */
  readonly attempts: number;
  /** The whole answer: an object where it was JSON, such as `{error, limit, current, upgrade_url}`. */
  readonly body: unknown;
}

/** The service answered, and it was no. */
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

/** No answer came: the service could not be reached, the connection broke, or the time was up. `cause` says why. */
export class WaymarkConnectionError extends WaymarkError {
  override name = "WaymarkConnectionError";
}

/** Traces, spans or their ends that were recorded could not be sent; `cause` says why where it was not the full queue. */
export class WaymarkLossError extends WaymarkError {
  override name = "WaymarkLossError";
  readonly traces: number;
  readonly spans: number;

  /** @param traces traces that are lost, or whose end is; @param spans likewise */
  constructor(message: string, lost: { traces: number; spans: number }, options?: ErrorOptions) {
    super(message, options);
    this.traces = lost.traces;
    this.spans = lost.spans;
  }
}
