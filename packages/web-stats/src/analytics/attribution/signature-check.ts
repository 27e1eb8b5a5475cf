import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import type { SignedRequest } from "./signed-request.js";

/** The keys of an agent by the thumbprints of their JSON Web Keys (RFC 7638). */
type Keys = ReadonlyMap<string, { readonly key: KeyObject; isValidAt(seconds: number): boolean }>;

const path = "/.well-known/http-message-signatures-directory";

/** Origins, as many as a list has machines; bytes and keys of a directory; its age, and until another try. */
const bounds = { origins: 500, bytes: 65_536, keys: 100, askMs: 5_000, freshMs: 3_600_000, retryMs: 60_000 } as const;

const seconds = z
  .number()
  .optional()
  // Some directories have milliseconds.
  .transform((time) => (time !== undefined && time > 1e11 ? time / 1_000 : time));

const directory = z.object({ keys: z.array(z.unknown()) });
const ed25519Key = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.base64url().length(43),
  nbf: seconds,
  exp: seconds,
});

export type Fetch = (url: string, options: RequestInit) => Promise<Response>;

/**
 * Makes the function that verifies signatures with the keys that their agents publish. Only origins of the list of machines may be
 * given to it: it asks each once an hour at most, and keeps its keys while it does not answer.
 */
export function createSignatureCheck(fetch: Fetch) {
  const directories = new LRUCache<string, Keys>({
    max: bounds.origins,
    ttl: bounds.freshMs,
    allowStale: true,
    fetchMethod: async (origin, known, { options }) => {
      try {
        return await readKeys(fetch, origin);
      } catch {
        options.ttl = bounds.retryMs;
        return known ?? new Map();
      }
    },
  });

  /** @returns the requests whose signature is right; those whose keys come later than the given time are not among them */
  return async (requests: readonly SignedRequest[], waitMs: number): Promise<ReadonlySet<SignedRequest>> => {
    const right = new Set<SignedRequest>();
    if (requests.length === 0) return right;
    const check = async (request: SignedRequest) => {
      const keys = await directories.fetch(request.origin);
      const found = keys?.get(request.keyId);
      if (!found?.isValidAt(request.seconds)) return;
      if (await verifyAside(null, request.base, found.key, request.signature)) right.add(request);
    };
    const stop = new AbortController();
    const late = setTimeout(waitMs, undefined, { signal: stop.signal }).catch(() => undefined);
    await Promise.race([Promise.all(requests.map(check)), late]);
    stop.abort();
    return new Set(right);
  };
}

/** On the pool of threads: a signature takes some 0.1 ms of processor. */
const verifyAside = promisify<null, Buffer, KeyObject, Buffer, boolean>(verify);

async function readKeys(fetch: Fetch, origin: string): Promise<Keys> {
  const response = await fetch(origin + path, { redirect: "error", signal: AbortSignal.timeout(bounds.askMs) });
  if (!response.ok) throw new Error(`The directory of keys answers ${response.status}`);
  const { keys } = directory.parse(JSON.parse(await readText(response)));
  return new Map(keys.slice(0, bounds.keys).flatMap((value) => entryOf(value) ?? []));
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > bounds.bytes) throw new Error(`The directory of keys has more than ${bounds.bytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function entryOf(value: unknown): [[string, { key: KeyObject; isValidAt(seconds: number): boolean }]] | undefined {
  const read = ed25519Key.safeParse(value);
  if (!read.success) return undefined;
  const { kty, crv, x, nbf = 0, exp = Number.POSITIVE_INFINITY } = read.data;
  const key = createPublicKey({ key: { kty, crv, x }, format: "jwk" });
  const thumbprint = createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");
  return [[thumbprint, { key, isValidAt: (at) => at >= nbf && at <= exp }]];
}
