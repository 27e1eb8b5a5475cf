import { hash } from "node:crypto";

/**
 * The `ETag` of an answer with a trace; undefined without a version. It is weak: a new release may write the same answer in
 * other bytes.
 * @param members the parts beyond the trace's rows
 */
export function traceTag(version: string | null, parts: readonly string[], members: string): string | undefined {
  if (version === null) return undefined;
  if (parts.length === 0) return `W/"${version}"`;
  return `W/"${hash("sha256", [version, ...parts, members].join("\n"), "hex").slice(0, 32)}"`;
}
