/** The forms of lines that an import reads. */
export const formatNames = ["ndjson", "combined", "common", "caddy-json", "nginx-json", "cloudfront"] as const;

/** Other tools whose exports of events an import reads. */
export const exportNames = ["umami", "goatcounter"] as const;

export type FormatName = (typeof formatNames)[number] | (typeof exportNames)[number];

/** Why a good line of a log is no page view. */
export type LeftOut = "method" | "status" | "asset";

/** A line of a file: the fields of an import's line, a reason to leave it out, a problem, or null for a line without an event. */
export type Reading =
  | { readonly fields: unknown; readonly isBot?: boolean }
  | { readonly leftOut: LeftOut }
  | { readonly problem: string }
  | null;

/** Reads one line after another. A reader may remember earlier lines, as a header. */
export type LineReader = (text: string) => Reading;
