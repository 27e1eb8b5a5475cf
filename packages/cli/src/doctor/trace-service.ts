import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { parseObject } from "../context/json.js";
import type { Service } from "../context/service.js";

/** An answer, or why there is none: the system's code, and its sentence. */
export type Reply =
  | { status: number; headers: Headers; body: Readonly<Record<string, unknown>>; tookMs: number }
  | { code: string; message: string };

/** A trace API as a holder of a key sees it. Each request is made once, and all end by one deadline. */
export interface TraceService {
  url: URL;
  key: string | undefined;
  deadlineMs: number;
  now(): Date;
  /** What serves at the address, asked without a key. */
  probe(): Promise<Reply>;
  usage(): Promise<Reply>;
  /** The answer to a run without its members: 400 for a key that may send. Nothing is stored. */
  send(): Promise<Reply>;
  newest(): Promise<Reply>;
}

export function visitService(
  { url, key }: Partial<Service> & { url: string },
  now: () => Date,
  deadlineMs: number,
  resolver = new Resolver({ timeout: nameTimeoutMs, tries: 1 }),
) {
  const signal = AbortSignal.timeout(deadlineMs);
  const authorization = key ? { Authorization: `Bearer ${key}` } : {};
  const named = isNameAnswered(new URL(url).hostname, resolver);
  const once = (path: string, init: RequestInit = {}) => {
    let reply: Promise<Reply> | undefined;
    const asked = async () =>
      (await named) ? ask(`${url}${path}`, { ...init, signal, redirect: "manual" }) : nameTimeout;
    return () => (reply ??= asked());
  };
  const json = { Accept: "application/json", "Content-Type": "application/json", ...authorization };
  const service: TraceService = {
    url: new URL(url),
    key,
    deadlineMs,
    now,
    probe: once("/", { headers: { Accept: "application/json" } }),
    usage: once("/api/v1/usage", { headers: json }),
    send: once("/api/v1/traces", { method: "POST", headers: json, body: "{}" }),
    newest: once("/api/v1/traces?limit=1", { headers: json }),
  };
  return service;
}

const nameTimeout: Reply = { code: "NAME_TIMEOUT", message: "no answer of the name server" };
const nameTimeoutMs = 1_000;

/** Whether a name server answers at all. `getaddrinfo` behind `fetch` cannot be stopped: a silent one holds the process up for 10 s. */
async function isNameAnswered(hostname: string, resolver: Resolver): Promise<boolean> {
  if (isIP(hostname.replace(/^\[|\]$/g, "")) || hostname === "localhost") return true;
  const hosts = await readFile("/etc/hosts", "utf8").catch(() => "");
  if (hosts.split(/\s+/).includes(hostname)) return true;
  const timer = setTimeout(() => resolver.cancel(), nameTimeoutMs);
  return resolver
    .resolve4(hostname)
    .then(
      () => true,
      ({ code }: NodeJS.ErrnoException) => code !== "ETIMEOUT" && code !== "ECANCELLED",
    )
    .finally(() => clearTimeout(timer));
}

/** More than any of these answers has; another server's page may be longer. */
const maxAnswerBytes = 65_536;

async function ask(url: string, init: RequestInit): Promise<Reply> {
  const startedAt = performance.now();
  try {
    const { status, headers, body } = await fetch(url, init);
    const text = await readSome(body);
    return { status, headers, body: parseObject(text) ?? {}, tookMs: performance.now() - startedAt };
  } catch (error) {
    if (init.signal?.aborted) return { code: "TIMEOUT", message: "no answer in time" };
    const causes = [error, (error as Error).cause, ((error as Error).cause as AggregateError | undefined)?.errors?.[0]];
    const known = causes.filter((cause) => cause instanceof Error) as NodeJS.ErrnoException[];
    const { code = "", message = String(error) } = known.findLast((cause) => cause.code) ?? known.at(-1) ?? {};
    return { code, message };
  }
}

async function readSome(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) break;
  }
  return Buffer.concat(chunks).toString();
}
