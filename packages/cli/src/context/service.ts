import {
  type ApiClient,
  type Call,
  createApiClient,
  createTransport,
  type RetryLimits,
  WaymarkApiError,
  WaymarkConnectionError,
} from "@waymark/client";
import { JsonText } from "@waymark/service/fields";
import { checkWebUrl } from "../local-system.js";
import { formatDuration, printable } from "../output/terminal-text.js";
import type { CommandBuilder } from "./command-builder.js";
import type { CommandContext } from "./command-context.js";
import { CommandError, UsageError } from "./command-error.js";
import type { OwnedDatabase } from "./on-owner.js";

/** The services that take keys, and the variables of their keys and addresses. */
export const services = {
  trace: { key: "WAYMARK_TRACE_KEY", url: "WAYMARK_TRACE_URL", defaultUrl: "http://127.0.0.1:4100" },
  analytics: { key: "WAYMARK_STATS_KEY", url: "WAYMARK_STATS_URL", defaultUrl: "http://127.0.0.1:4200" },
} as const;

type ServiceName = keyof typeof services;

export interface ServiceOptions {
  key?: string | undefined;
  url?: string | undefined;
}

export interface Service {
  name: ServiceName;
  url: string;
  key: string;
}

/** A person waits for the answer. */
const timeoutMs = 20_000;

export function addServiceOptions<Args extends readonly (string | undefined)[], Options extends object>(
  command: CommandBuilder<Args, Options>,
  name: ServiceName = "trace",
) {
  const { key, url, defaultUrl } = services[name];
  return command
    .option("--key <key>", `a key of the ${name} service (default: ${key}, which other users cannot see)`)
    .option("--url <url>", `the ${name} API's address (default: ${url} or ${defaultUrl})`);
}

/**
 * The address and key of the options or the environment.
 * @throws CommandError when there is no key, or the address is none
 */
export function serviceOf(env: NodeJS.ProcessEnv, options: ServiceOptions, name: ServiceName = "trace"): Service {
  const variables = services[name];
  const key = options.key ?? env[variables.key];
  if (!key) {
    throw new CommandError(
      `A key of the ${name} service is needed: give --key or set ${variables.key}. 'waymark key create --service ${name}' makes one.`,
    );
  }
  const url = options.url ?? (env[variables.url] || variables.defaultUrl);
  checkWebUrl(url, `--url or ${variables.url}`);
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CommandError("The key has characters that no key has.");
  return { name, key, url: url.replace(/\/+$/, "") };
}

/** An answer parsed, and for `--json` as it came: parsing drops digits and doubled keys. */
export interface Answer<Body> {
  body: Body;
  value: unknown;
}

interface Connected extends Service {
  api: ApiClient;
  call<Body>(call: Omit<Call, "query"> & { query?: Readonly<Record<string, string>> }): Promise<Answer<Body>>;
  lastText(): string;
}

/**
 * Does some work by the API of a key.
 * @throws CommandError with a sentence for each refusal, and for an API that does not answer
 */
export async function onService<T>(
  { env }: Pick<CommandContext, "env">,
  options: ServiceOptions,
  work: (service: Connected) => Promise<T>,
  { name = "trace", retry = { retries: 3 } }: { name?: ServiceName; retry?: Partial<RetryLimits> } = {},
): Promise<T> {
  const service = serviceOf(env, options, name);
  const answers = keepAnswer();
  const connection = { ...service, retry, timeoutMs, fetch: answers.fetch };
  const transport = createTransport(connection);
  try {
    return await work({
      ...service,
      api: createApiClient(connection),
      async call<Body>({ query, ...rest }: Parameters<Connected["call"]>[0]) {
        const body = (await transport({ ...rest, ...(query && { query: new URLSearchParams(query) }) })) as Body;
        return { body, value: new JsonText(answers.text()) };
      },
      lastText: answers.text,
    });
  } catch (error) {
    throw explainCall(error, service);
  }
}

/** The one rule where a command reads: the database with `--account` or `--site`, else the API of the key. */
export async function readFrom<Body>(
  context: CommandContext,
  options: ServiceOptions & { account?: string; site?: string },
  by: { key(service: Connected): Promise<Answer<Body>>; owner(database: OwnedDatabase<object>): Promise<Body> },
  name: ServiceName = "trace",
): Promise<Answer<Body>> {
  const owner = name === "trace" ? "--account" : "--site";
  if ((options.account ?? options.site) === undefined) {
    if (!(options.key ?? context.env[services[name].key])) {
      throw new UsageError(
        `Give --key or set ${services[name].key} to ask the ${name} API, or give ${owner} to read the database.`,
      );
    }
    return onService(context, options, by.key, { name });
  }
  if (options.key ?? options.url) throw new UsageError(`${owner} reads the database: leave --key and --url out.`);
  const { onOwner } = await import("./on-owner.js");
  const value = await onOwner(context, options, by.owner);
  return { body: value, value };
}

/** A CommandError for a failed call; any other error comes back unchanged. */
export function explainCall(error: unknown, service: Pick<Service, "name" | "url">): unknown {
  const sentence = sentenceOf(error, service);
  return sentence === undefined ? error : new CommandError(printable(sentence), { cause: error });
}

function sentenceOf(error: unknown, { name, url }: Pick<Service, "name" | "url">): string | undefined {
  if (error instanceof WaymarkConnectionError) return `The ${name} API cannot be reached: ${error.message}.`;
  if (!(error instanceof WaymarkApiError)) return undefined;
  const { status, retryAfterMs, requestId } = error;
  const { hint, docs, reason } = (typeof error.body === "object" ? (error.body ?? {}) : {}) as Record<string, unknown>;
  const fields = Object.entries(error.fields).map(([field, message]) => `${field}: ${message}`);
  const answered = `answered ${status}: ${error.error}`;
  const unknownKey = "it is mistyped, revoked, or of another service";
  const sentences = [
    `The ${name} API ${fields.length > 0 ? `refuses this: ${fields.join("; ")}` : status === 401 ? `refuses this key: ${hint ?? unknownKey}` : answered}`,
    ...[reason, status === 401 ? undefined : hint].filter((text) => typeof text === "string"),
    ...(retryAfterMs === null ? [] : [`Try again in ${formatDuration(retryAfterMs * 1_000)}`]),
    ...(typeof docs === "string" && URL.canParse(docs, url) ? [`See ${new URL(docs, url)}`] : []),
    ...(requestId === null ? [] : [`The request was ${requestId}`]),
  ];
  return sentences.map((each) => `${each.replace(/\.$/, "")}.`).join(" ");
}

/** `fetch failed` has the reason as its cause. */
export function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error && cause.message !== "" ? cause.message : String((error as Error).message ?? error);
}

/** A `fetch` that keeps the text of its last answer. */
function keepAnswer(): { fetch: typeof fetch; text(): string } {
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
