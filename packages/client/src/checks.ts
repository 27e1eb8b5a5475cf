import { type SpanKind, type SpanStatus, spanKinds, type TraceLabels, type TraceStatus } from "./api-types.js";
import { WaymarkError } from "./errors.js";
import { toText } from "./texts.js";
import { type Connection, type ConnectionOptions, createConnection } from "./transport.js";

export type Warn = (topic: string, message: string) => void;

/** One warning for each mistake of the program's author. */
export function createWarn(onWarning: (message: string) => void = console.warn): Warn {
  const said = new Set<string>();
  return (topic, message) => {
    if (said.has(topic)) return;
    said.add(topic);
    try {
      onWarning(`Waymark: ${toText(message)}`);
    } catch {
      // An exception of the user's callback must not stop the recorded program.
    }
  };
}

/** The setting of the environment, where there is one. */
function setting(name: string): string | undefined {
  // biome-ignore lint/style/noProcessEnv: an SDK has no main.ts to read its settings
  return globalThis.process?.env?.[name]?.trim() || undefined;
}

export function withEnvironment<Options extends ConnectionOptions>(given: Options | undefined): Options {
  const options = typeof given === "object" && given !== null ? given : ({} as Options);
  const { key = setting("WAYMARK_TRACE_KEY"), url = setting("WAYMARK_TRACE_URL") } = options;
  return { ...options, key, url };
}

/** A connection that works, or the reason that nothing can be recorded. */
export function connect(options: ConnectionOptions): { connection: Connection; off?: WaymarkError } {
  const off = (message: string) => ({ connection: createConnection({}), off: new WaymarkError(message) });
  const { key } = options;
  if (key === undefined) return off("no key: set WAYMARK_TRACE_KEY or the option `key`");
  if (key !== null && typeof key !== "string") return off("the key is no text");
  if (key?.startsWith("wmk_stats_"))
    return off("the key is one of statistics; traces need one that begins with wmk_trace_");
  try {
    return { connection: createConnection(options) };
  } catch (error) {
    return off(error instanceof Error ? error.message : toText(error));
  }
}

const statuses: Readonly<Record<string, TraceStatus>> = {
  success: "success",
  error: "error",
  timeout: "timeout",
  ok: "success",
};

export function toStatus(given: unknown, warn: Warn): TraceStatus {
  const status = given === undefined ? "success" : statuses[toText(given)];
  if (given !== undefined && given !== status)
    warn("trace status", `a trace ends with "success", "error" or "timeout", not "${toText(given)}"`);
  return status ?? "error";
}

export function toSpanStatus(given: unknown, warn: Warn): SpanStatus | undefined {
  if (given === undefined || given === "ok" || given === "error") return given;
  warn("span status", `a span ends with "ok" or "error", not "${toText(given)}"`);
  return undefined;
}

/** The service would refuse the span for another text. */
export function toKind(given: unknown, warn: Warn): SpanKind | undefined {
  const known = spanKinds.find((kind) => kind === given);
  if (given !== undefined && known === undefined)
    warn("kind", `the kind of a span is one of ${spanKinds.join(", ")}, not "${toText(given)}"`);
  return known;
}

const camelCase: Readonly<Record<string, string>> = { agentId: "agent_id", sessionId: "session_id", userId: "user_id" };

/** The API's names for members that may be written in either way. */
export function toSnakeCase(
  given: unknown,
  known: readonly string[],
  warn: Warn,
  what: string,
): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(typeof given === "object" && given !== null ? given : {})) {
    const plain = camelCase[name] ?? name;
    if (known.includes(plain)) members[plain] = value;
    else warn(`${what} ${name}`, `${what} has no "${name.slice(0, 60)}"; there are ${known.join(", ")}`);
  }
  return members;
}

export const labelNames = [
  "session_id",
  "user_id",
  "environment",
  "release",
  "tags",
] as const satisfies (keyof TraceLabels)[];
