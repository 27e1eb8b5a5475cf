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

export class WaymarkApiError extends WaymarkError implements Refusal {
  override name = "WaymarkApiError";
  declare readonly status: number;
  declare readonly error: string;
  declare readonly fields: Readonly<Record<string, string>>;
  declare readonly requestId: string | null;
  declare readonly retryAfterMs: number | null;
  declare readonly attempts: number;
  declare readonly body: unknown;

  constructor(refusal: Refusal) {
    const fields = Object.entries(refusal.fields).map(([field, message]) => `${field}: ${message}`);
    super(`${refusal.status} ${refusal.error}${fields.length > 0 ? ` (${fields.join(", ")})` : ""}`);
    Object.assign(this, refusal);
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
  /** Of traces that lost something, up to five. */
  readonly names: readonly string[];

  /** A trace counts as lost if only its end is lost; likewise a span. */
  constructor(
    message: string,
    lost: { traces: number; spans: number; names: readonly string[] },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.traces = lost.traces;
    this.spans = lost.spans;
    this.names = lost.names;
  }
}
