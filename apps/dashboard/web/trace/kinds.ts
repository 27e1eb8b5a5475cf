import type { SpanKind } from "@waymark/traces";

export type Kind = SpanKind;

export const kindNames: Readonly<Record<Kind, string>> = {
  model: "Model",
  tool: "Tool",
  retrieval: "Retrieval",
  evaluation: "Evaluation",
  agent: "Agent",
  chain: "Chain",
  other: "Other",
};

/** A style with the kind's colour as `--kind`. */
export const colorOf = (kind: Kind) => ({ "--kind": `var(--${kind})` });

export const kinds = Object.keys(kindNames) as readonly Kind[];
