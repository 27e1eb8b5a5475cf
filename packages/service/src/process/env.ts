import { isIP } from "node:net";
import { availableParallelism } from "node:os";
import { z } from "zod";
import { isPublicAddress } from "../fields/public-address.js";
import { findNotices, type SettingNotice } from "./setting-notices.js";

/** The environment is missing settings or has wrong ones; `problems` has a line per variable, never its value. */
export class ConfigError extends Error {
  override name = "ConfigError";

  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not right:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
  }
}

/** Reads a variable per field; an empty one counts as missing. @throws ConfigError naming each missing or wrong one */
export function readEnv<Shape extends z.ZodRawShape>(
  env: NodeJS.ProcessEnv,
  shape: Shape,
): z.output<z.ZodObject<Shape>> & { notices: readonly SettingNotice[] } {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ""));
  const result = z.object(shape).safeParse(set, {
    error: (issue) => (issue.input === undefined ? "must be set" : undefined),
  });
  const notices = findNotices(env, Object.keys(shape));
  if (result.success) return { ...result.data, notices };
  const problems = result.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`);
  throw new ConfigError([...problems, ...notices.map(({ name, says }) => `${name} ${says}`)]);
}

export const readable = <Content>(variable: string, content: Promise<Content>) =>
  usable(`${variable} names a file that cannot be read`, content);

export const writable = <Content>(variable: string, content: Promise<Content>) =>
  usable(`${variable} names a folder that cannot be written`, content);

async function usable<Content>(problem: string, content: Promise<Content>): Promise<Content> {
  try {
    return await content;
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    throw new ConfigError([`${problem}: ${code ?? name}`]);
  }
}

export function integerVariable(bounds: { min: number; max: number }) {
  const message = `must be a whole number from ${bounds.min} to ${bounds.max}`;
  return z
    .string()
    .regex(/^-?\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= bounds.min && value <= bounds.max, message);
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export type Duration = `${number}${keyof typeof unitMs}`;

/** A span of time, read as milliseconds: `90s`, `30m`, `2h`, `1d`, or plain seconds. The bounds are inclusive. */
export function durationVariable(bounds: { min: Duration; max: Duration }) {
  const message = `must be a time from ${bounds.min} to ${bounds.max}, such as 90s, 30m, 2h, 1d, or seconds`;
  return z
    .string()
    .regex(/^\d{1,9}[smhd]?$/, message)
    .transform(durationMs)
    .refine((ms) => ms >= durationMs(bounds.min) && ms <= durationMs(bounds.max), message);
}

function durationMs(text: string): number {
  const unit = text.at(-1) ?? "";
  return Number.parseInt(text, 10) * (unit in unitMs ? unitMs[unit as keyof typeof unitMs] : unitMs.s);
}

/** A TCP port; 0 lets the system choose one. */
export function portVariable(fallback: number) {
  return integerVariable({ min: 0, max: 65_535 }).default(fallback);
}

/** A URL with one of the given protocols, such as `["postgres:", "postgresql:"]`. */
export function urlVariable(protocols: readonly string[]) {
  const example = protocols.map((protocol) => `${protocol}//`).join(" or ");
  return z
    .string()
    .refine((text) => !severalHosts.test(text), {
      error: "must name one host; put a proxy before several",
      abort: true,
    })
    .refine((text) => protocols.includes(protocolOf(text)), `must be a URL that starts with ${example}`);
}

/** As in `postgres://a:5432,b:5432/name`, which libpq reads and our driver does not. */
const severalHosts = /^\w+:\/\/(?:[^/?#]*@|(?![^/?#]*@))[^/?#@]*,/;

function protocolOf(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : "";
}

function choiceVariable<const Choice extends string>(choices: readonly [Choice, ...Choice[]]) {
  return z.enum(choices, { error: `must be one of: ${choices.join(", ")}` });
}

/** The dashboard's address: without a path, since its pages and cookies begin at the root, and encrypted in public. */
export function dashboardUrlVariable() {
  return urlVariable(["https:", "http:"])
    .transform((url) => url.replace(/\/+$/, ""))
    .refine((url) => /^\w+:\/\/[^/?#@]+$/.test(url), "must have no path, as in https://waymark.example.com")
    .refine((url) => !url.startsWith("http:") || !isPublicHost(new URL(url).hostname), "must be https");
}

export function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);
}

const privateName = /^([^.]+|.*\.(local|internal|lan|home\.arpa|test))$/i;

/** Private networks may go without a certificate. */
function isPublicHost(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, "");
  return isIP(address) === 0 ? !privateName.test(host) : isPublicAddress(address);
}

export const commonVariables = {
  DATABASE_URL: urlVariable(["postgres:", "postgresql:"]),
  DIRECT_DATABASE_URL: urlVariable(["postgres:", "postgresql:"]).optional(),
  DATABASE_POOLER: choiceVariable(["session", "transaction"]).optional(),
  REQUIRE_SYNCHRONOUS_STANDBY: integerVariable({ min: 0, max: 1 }).optional(),
  REDIS_URL: urlVariable(["redis:", "rediss:"]).optional(),
  HOST: z.string().default("127.0.0.1"),
  METRICS_HOST: z.string().default("127.0.0.1"),
  LOG_LEVEL: choiceVariable(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
  DATABASE_POOL_SIZE: integerVariable({ min: 1, max: 200 }).default(10),
};

type CommonValues = z.output<z.ZodObject<typeof commonVariables>>;

/** @throws ConfigError without a way past a pooler in transaction mode */
export function databaseConfig(
  read: Pick<CommonValues, "DATABASE_URL" | "DATABASE_POOL_SIZE"> & Partial<CommonValues>,
) {
  const { DATABASE_URL: url, DIRECT_DATABASE_URL: directUrl, DATABASE_POOL_SIZE: maxConnections } = read;
  const isPooledByTransaction = read.DATABASE_POOLER === "transaction" || undefined;
  if (isPooledByTransaction && !directUrl)
    throw new ConfigError(["DIRECT_DATABASE_URL must be set with DATABASE_POOLER=transaction"]);
  const isStandbyRequired = read.REQUIRE_SYNCHRONOUS_STANDBY === 1 || undefined;
  // The direct URL leads past a pooler, for `LISTEN` and the queue.
  return { url, directUrl: directUrl ?? url, maxConnections, isPooledByTransaction, isStandbyRequired };
}

/** Where `/metrics` is; without a chosen port any free one will do. */
export function metricsConfig<Name extends string>(
  read: { METRICS_HOST: string } & Readonly<Record<Name, number>>,
  name: Name,
  env: NodeJS.ProcessEnv,
) {
  return { host: read.METRICS_HOST, port: read[name], isPortChosen: Boolean(env[name]) };
}

const mostProcesses = 64;

export const httpVariables = {
  ...commonVariables,
  WEB_CONCURRENCY: z
    .union([z.literal("auto"), integerVariable({ min: 1, max: mostProcesses })], {
      error: `must be auto or a whole number from 1 to ${mostProcesses}`,
    })
    .default(1),
};

/** `auto` takes the cores, two connections each at least. @throws ConfigError unless each process gets a connection */
function processesOf(read: { WEB_CONCURRENCY: number | "auto"; DATABASE_POOL_SIZE: number }): number {
  const { WEB_CONCURRENCY: wanted, DATABASE_POOL_SIZE: connections } = read;
  if (wanted === "auto") {
    return Math.max(1, Math.min(availableParallelism(), mostProcesses, Math.floor(connections / 2)));
  }
  if (wanted <= connections) return wanted;
  throw new ConfigError(["WEB_CONCURRENCY must be at most DATABASE_POOL_SIZE: each process needs a connection"]);
}

/** The settings that all HTTP services have. @param service the beginning of its ports' variables, such as `TRACE_API` */
export function httpConfig<Service extends string>(
  read: z.output<z.ZodObject<typeof httpVariables>> & { notices: readonly SettingNotice[] } & Readonly<
      Record<`${NoInfer<Service>}_PORT` | `${NoInfer<Service>}_METRICS_PORT`, number>
    >,
  service: Service,
  env: NodeJS.ProcessEnv,
) {
  return {
    http: { host: read.HOST, port: read[`${service}_PORT` as const] },
    metrics: metricsConfig(read, `${service}_METRICS_PORT` as const, env),
    database: databaseConfig(read),
    processes: processesOf(read),
    notices: read.notices,
  };
}
