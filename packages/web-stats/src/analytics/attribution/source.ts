/** The kinds with a channel of their own, and `other`. */
export type SourceKind = "search" | "social" | "video" | "shopping" | "ai" | "email" | "other";

/** A source by its name in the statistics. */
export interface Source {
  readonly name: string;
  readonly kind: SourceKind;
}
