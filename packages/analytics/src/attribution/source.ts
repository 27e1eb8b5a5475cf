/** What a known source is, as far as channels are concerned; `other` has a name and no channel of its own. */
export type SourceKind = "search" | "social" | "video" | "shopping" | "ai" | "email" | "other";

/** A source under the name that statistics show. */
export interface Source {
  readonly name: string;
  readonly kind: SourceKind;
}
