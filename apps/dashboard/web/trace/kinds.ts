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

export const kinds = Object.keys(kindNames) as readonly Kind[];
