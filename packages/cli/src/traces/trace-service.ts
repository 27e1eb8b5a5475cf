import {
  type ApiClient,
  createApiClient,
  type RetryLimits,
  type Span,
  type Trace,
  WaymarkApiError,
  WaymarkConnectionError,
} from "@waymark/client";
import { JsonText, jsonElementMembers, jsonMembers } from "@waymark/service/fields";
import { opaqueNames } from "@waymark/traces";
import type { CommandBuilder } from "../context/command-builder.js";
import { CommandError } from "../context/command-error.js";
import { checkWebUrl } from "../local-system.js";
import { printable } from "../output/terminal-text.js";

export interface ServiceOptions {
  key?: string;
  url?: string;
}

const defaultUrl = "http://127.0.0.1:4100";

/** A person waits for the answer. */
const timeoutMs = 20_000;

export function addServiceOptions<Options extends object>(command: CommandBuilder<[], Options>) {
  return command
    .option("--key <key>", "a key of the trace service (default: WAYMARK_TRACE_KEY, which other users cannot see)")
    .option("--url <url>", `the trace API's address (default: WAYMARK_TRACE_URL or ${defaultUrl})`);
}

export function connectService(
  env: NodeJS.ProcessEnv,
  options: ServiceOptions,
  retry: Partial<RetryLimits> = { retries: 3 },
  through: { fetch?: typeof fetch } = {},
): ApiClient {
  return createApiClient({ ...serviceOf(env, options), retry, timeoutMs, ...through });
}

/**
 * The address and key of the options or the environment.
 * @throws CommandError when there is no key, or the address is none
 */
export function serviceOf(env: NodeJS.ProcessEnv, options: ServiceOptions): { url: string; key: string } {
  const key = options.key ?? env["WAYMARK_TRACE_KEY"];
  if (!key) {
    throw new CommandError(
      "A key of the trace service is needed: give --key or set WAYMARK_TRACE_KEY. 'waymark key create --service trace' makes one.",
    );
  }
  const url = options.url ?? (env["WAYMARK_TRACE_URL"] || defaultUrl);
  return checkAddress({ url, key }, "--url or WAYMARK_TRACE_URL");
}

export function checkAddress({ url, key }: { url: string; key: string }, source: string): { url: string; key: string } {
  checkWebUrl(url, source);
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CommandError("The key has characters that no key has.");
  return { key, url };
}

/** A CommandError for a failed call; any other error comes back unchanged. */
export function explainCall(error: unknown): unknown {
  const sentence = sentenceOf(error);
  return sentence === undefined ? error : new CommandError(printable(sentence), { cause: error });
}

function sentenceOf(error: unknown): string | undefined {
  if (error instanceof WaymarkConnectionError) return `The trace API cannot be reached: ${error.message}.`;
  if (!(error instanceof WaymarkApiError)) return undefined;
  if (error.status === 401)
    return "The trace API does not know this key: it is mistyped, revoked, or of another service.";
  const fields = Object.entries(error.fields).map(([field, message]) => `${field}: ${message}`);
  if (fields.length > 0) return `The trace API refuses this: ${fields.join("; ")}.`;
  return `The trace API answered ${error.status}: ${error.error.replace(/\.$/, "")}.`;
}

/** `fetch failed` has the reason as its cause. */
export function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error && cause.message !== "" ? cause.message : String((error as Error).message ?? error);
}

/** The opaque JSON of a trace, and of its spans. */
const ofTrace = ["metadata"] as const;
const ofSpan = [...opaqueNames, "otel"] as const;

/** A `fetch` that keeps the text of its last answer: parsing it drops digits and doubled keys. */
export function keepAnswer(): { fetch: typeof fetch; text(): string } {
  let last = "";
  return {
    async fetch(input, init) {
      const answer = await fetch(input, init);
      last = await answer.text();
      const { status, statusText, headers } = answer;
      return new Response(last, { status, statusText, headers });
    },
    text: () => last,
  };
}

/** The trace of an answer, with the texts of its contents in place of their parsed values. */
export function withTexts(trace: Trace, answer: string): Trace {
  const found = jsonElementMembers(answer, "spans", ofSpan, Number.POSITIVE_INFINITY);
  const spans = typeof found === "string" ? [] : found;
  return {
    ...trace,
    ...(textsOf(jsonMembers(answer, ofTrace)) as Partial<Trace>),
    spans: trace.spans.map((span, n) => ({ ...span, ...(textsOf(spans[n] ?? []) as Partial<Span>) })),
  };
}

function textsOf(members: Iterable<readonly [string, string]>): Record<string, JsonText | null> {
  return Object.fromEntries([...members].map(([name, text]) => [name, text === "null" ? null : new JsonText(text)]));
}
