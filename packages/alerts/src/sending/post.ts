import { lookup, Resolver } from "node:dns/promises";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress, type Networks } from "@waymark/service/fields";

export interface PostOptions {
  privateNetworks: Networks;
  timeoutMs?: number;
  resolve?: (hostname: string) => Promise<HostAddress[]>;
}

export interface PostRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

interface Answered {
  status: number;
  retryAfter: string | undefined;
  text: string;
  /** Whether a private network answered. */
  isInside: boolean;
}

export type PostAnswer =
  | Answered
  /** No answer; `isRefused`: the address is none to post to. */
  | { status: null; reason: string; isRefused: boolean };

const defaultTimeoutMs = 10_000;
const maxAnswerBytes = 65_536;

/** Connects to the address of one look-up, to no private network, follows no redirect, reads 64 KiB at most. */
export async function post(request: PostRequest, options: PostOptions): Promise<PostAnswer> {
  const signal = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
  try {
    const url = new URL(request.url);
    const addresses = await orAborted((options.resolve ?? resolveHost)(url.hostname), signal);
    const inside = addresses.filter(({ address }) => !isPublicAddress(address));
    if (!inside.every(({ address }) => options.privateNetworks.has(address))) {
      const reason = "The address is in a private network; the operator may allow its network by WEBHOOK_ALLOW_PRIVATE";
      return { status: null, reason, isRefused: true };
    }
    return { ...(await send(url, { ...request, addresses, signal })), isInside: inside.length > 0 };
  } catch (error) {
    const reason = signal.aborted ? "No answer in time" : `No connection: ${describe(error)}`;
    return { status: null, reason, isRefused: false };
  }
}

interface Sending extends PostRequest {
  addresses: readonly HostAddress[];
  signal: AbortSignal;
}

async function send(url: URL, { headers, body, addresses, signal }: Sending): Promise<Omit<Answered, "isInside">> {
  const lookup: LookupFunction = (_hostname, options, callback) => {
    const [first = { address: "", family: 4 }] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const length = { "content-length": String(Buffer.byteLength(body)), "user-agent": "Waymark" };
    const { request } = url.protocol === "https:" ? https : http;
    const sent = request(url, { method: "POST", agent: false, headers: { ...headers, ...length }, lookup, signal });
    sent.on("response", resolve);
    // Also after the answer began: its reader sees that.
    sent.on("error", reject);
    sent.end(body);
  });
  const text = await readStart(answer);
  return { status: answer.statusCode ?? 0, retryAfter: answer.headers["retry-after"], text };
}

/** The answer's first bytes as text. Its status counts even if the rest breaks off. */
async function readStart(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= maxAnswerBytes) break;
    }
  } catch {
    // What came is enough.
  }
  answer.destroy();
  return Buffer.concat(chunks).toString("utf8", 0, maxAnswerBytes);
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

function describe(error: unknown): string {
  const [first = error] = error instanceof AggregateError ? error.errors : [error];
  const code = typeof first === "object" && first !== null && "code" in first ? String(first.code) : undefined;
  return code ?? (first instanceof Error ? first.message : String(first));
}

interface HostAddress {
  address: string;
  family: number;
}

const dnsTimeoutMs = 2_000;

/** Without the thread pool: a name server that hangs delays nobody. The machine's own list may know more names. */
async function resolveHost(hostname: string): Promise<HostAddress[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  if (/^(.*\.)?localhost\.?$/.test(host)) return lookup(host, { all: true });
  const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: 2 });
  const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = [...addressesOf(four, 4), ...addressesOf(six, 6)];
  if (found.length > 0) return found;
  if (four.status === "rejected" && four.reason.code === "ETIMEOUT") throw four.reason;
  return lookup(host, { all: true });
}

function addressesOf(result: PromiseSettledResult<string[]>, family: number): HostAddress[] {
  return result.status === "fulfilled" ? result.value.map((address) => ({ address, family })) : [];
}
