import { createHash } from "node:crypto";

/** A resource or scope that spans share: stored once for each trace, and its spans refer to it. */
export interface Context {
  /** The first 64 bits of the text's SHA-256, as a signed number in decimal digits. */
  readonly id: string;
  /** The text of an object. */
  readonly json: string;
  /** Of the text in UTF-8. */
  readonly bytes: number;
}

/** Bytes of a resource and of a scope as JSON at most. Those of real SDKs have 1 to 4 KiB. */
export const maxResourceBytes = 65_536;
export const maxScopeBytes = 16_384;

/**
 * Bytes of resources and scopes that one request may have stored, each counted once for each of its traces: so many
 * traces with the resource of a real SDK do not fit the largest body.
 */
export const maxContextBytes = 16 * 1_048_576;

/** Resources and scopes of one request: each text once, and no more copies than {@link maxContextBytes}. */
export class Contexts {
  private readonly byText = new Map<string, Context>();
  private readonly counted = new Set<string>();
  private countedBytes = 0;

  /** @returns undefined where the text is longer than may be */
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

  /** Counts what a trace has of them, each once; false where it does not fit. */
  take(traceId: string, resource: Context, scope: Context | null): boolean {
    const fresh = [resource, ...(scope ? [scope] : [])].filter(({ id }) => !this.counted.has(traceId + id));
    const bytes = fresh.reduce((sum, context) => sum + context.bytes, 0);
    if (this.countedBytes + bytes > maxContextBytes) return false;
    this.countedBytes += bytes;
    for (const { id } of fresh) this.counted.add(traceId + id);
    return true;
  }
}
