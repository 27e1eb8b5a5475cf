import { createHash } from "node:crypto";

/** A resource or scope, stored once per trace. Its spans refer to it. */
export interface Context {
  /** The first 64 bits of the SHA-256 of `json`, as a signed decimal number. */
  readonly id: string;
  readonly json: string;
  readonly bytes: number;
}

/** Limits of a resource and a scope as JSON. Those of real SDKs have 1 to 4 KiB. */
export const maxResourceBytes = 65_536;
export const maxScopeBytes = 16_384;

/**
 * Bytes of resources and scopes that one request may store, counted once per trace. No body within the size limit holds
 * enough traces with the resource of a real SDK to reach it.
 */
export const maxContextBytes = 16 * 1_048_576;

/** The resources and scopes of one request, without duplicates and within {@link maxContextBytes}. */
export class Contexts {
  private readonly byText = new Map<string, Context>();
  private readonly counted = new Set<string>();
  private countedBytes = 0;

  /** @returns undefined where `json` is over the limit */
  of(json: string, maxBytes: number): Context | undefined {
    const known = this.byText.get(json);
    if (known) return known;
    const bytes = Buffer.byteLength(json);
    if (bytes > maxBytes) return undefined;
    const id = createHash("sha256").update(json).digest().readBigInt64BE().toString();
    const context = { id, json, bytes };
    this.byText.set(json, context);
    return context;
  }

  /** Counts the contexts that are new to a trace; false where they do not fit. */
  take(traceId: string, resource: Context, scope: Context | null): boolean {
    const fresh = [resource, ...(scope ? [scope] : [])].filter(({ id }) => !this.counted.has(traceId + id));
    const bytes = fresh.reduce((sum, context) => sum + context.bytes, 0);
    if (this.countedBytes + bytes > maxContextBytes) return false;
    this.countedBytes += bytes;
    for (const { id } of fresh) this.counted.add(traceId + id);
    return true;
  }
}
