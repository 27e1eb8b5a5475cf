export const kinds = ["model", "tool", "agent", "step"] as const;
export type Kind = (typeof kinds)[number];

export const kindNames: Readonly<Record<Kind, string>> = { model: "Model", tool: "Tool", agent: "Agent", step: "Step" };

/** Values of `gen_ai.operation.name`, OpenInference, Traceloop and the AI SDK, lower case. */
const values: Readonly<Record<string, Kind>> = {
  chat: "model",
  text_completion: "model",
  generate_content: "model",
  embeddings: "model",
  execute_tool: "tool",
  invoke_agent: "agent",
  create_agent: "agent",
  invoke_workflow: "agent",
  llm: "model",
  embedding: "model",
  tool: "tool",
  retriever: "tool",
  reranker: "tool",
  agent: "agent",
  workflow: "agent",
  chain: "step",
  task: "step",
  guardrail: "step",
  evaluator: "step",
  "ai.toolcall": "tool",
};

/** The first that fits a name decides. */
const words: readonly [RegExp, Kind][] = [
  [
    /^(tool|function|execute_tool|mcp|retriev\w*)\b|^tool[._:-]|\b(tool[ _.-]?call|tool|bash|shell|browser|search|fetch)\b/i,
    "tool",
  ],
  [/\b(llm|model|chat|completions?|generat\w*|responses?|embeddings?|inference|sampling)\b/i, "model"],
  [/gpt-?\d|\bo[1345](-mini)?\b|claude|gemini|llama|mistral|qwen|deepseek|openai|anthropic|bedrock|cohere/i, "model"],
  [/\b(agent|crew|workflow|graph|team|handoff|runner|invoke_agent)\b|agent$/i, "agent"],
  [
    /^(get|list|find|search|read|write|create|update|delete|cancel|book|send|fetch|run|open|calculate|transfer)_\w+$/,
    "tool",
  ],
];

/** The kind of a span by its attributes, `operation|openinference|traceloop|ai` as the outline gives them, else by its name. */
export function kindOf(hint: string, name: string): Kind {
  for (const value of hint.toLowerCase().split("|")) {
    const kind = values[value];
    if (kind) return kind;
    if (/^ai\..*\.do(generate|stream|embed)/.test(value)) return "model";
    if (/^ai\.(generate|stream|embed)/.test(value)) return "agent";
  }
  const spaced = name.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[_:/]/g, " ");
  for (const [pattern, kind] of words) if (pattern.test(name) || pattern.test(spaced)) return kind;
  return "step";
}
