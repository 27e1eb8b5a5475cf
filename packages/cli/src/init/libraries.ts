export type Runtime = "node" | "python";

/** How a library's calls come to Waymark: by our SDK, by OpenTelemetry, or by Claude Code's own. */
type Way = "sdk" | "opentelemetry" | "claude";

export interface Library {
  name: string;
  /** Its packages by npm or pip; one is enough. */
  packages: readonly string[];
  way: Way;
  /** The lines that `packages/client/README.md`, that for Python or `SENDERS.md` have. A test compares them. */
  imports?: string;
  line?: string;
  where?: string;
  place?: RegExp;
}

const startUp = "where your program starts";

export const libraries: Readonly<Record<Runtime, readonly Library[]>> = {
  node: [
    {
      name: "AI SDK",
      packages: ["ai"],
      way: "sdk",
      imports: 'import { waymarkMiddleware } from "@waymark/client/ai-sdk";',
      line: "wrapLanguageModel({ model, middleware: waymarkMiddleware() })",
      where: "in place of the model",
      place: /\bmodel:\s/,
    },
    {
      name: "OpenAI",
      packages: ["openai"],
      way: "sdk",
      imports: 'import { wrapOpenAI } from "@waymark/client/openai";',
      line: "wrapOpenAI(new OpenAI())",
      where: "in place of the client",
      place: /new OpenAI\(/,
    },
    {
      name: "Anthropic",
      packages: ["@anthropic-ai/sdk"],
      way: "sdk",
      imports: 'import { wrapAnthropic } from "@waymark/client/anthropic";',
      line: "wrapAnthropic(new Anthropic())",
      where: "in place of the client",
      place: /new Anthropic\(/,
    },
    {
      name: "LangChain and LangGraph",
      packages: ["langchain", "@langchain/core", "@langchain/langgraph"],
      way: "sdk",
      imports: 'import { waymarkHandler } from "@waymark/client/langchain";',
      line: "chain.invoke(input, { callbacks: [waymarkHandler()] })",
      where: "at each call of a chain, graph or model",
      place: /\.(invoke|stream)\(/,
    },
    {
      name: "OpenAI Agents",
      packages: ["@openai/agents"],
      way: "sdk",
      imports: 'import { wrapOpenAI } from "@waymark/client/openai";',
      line: "wrapOpenAI(new OpenAI())",
      where: "as the client that setDefaultOpenAIClient takes",
      place: /from "@openai\/agents"/,
    },
    {
      name: "Mastra",
      packages: ["@mastra/core"],
      way: "opentelemetry",
      line: 'new OtelExporter({ provider: { custom: { endpoint: "https://your-trace-domain/v1/traces", headers } } });',
      where: "among the exporters of Observability, from @mastra/otel-exporter",
      place: /new Mastra\(/,
    },
    { name: "Claude Agent SDK", packages: ["@anthropic-ai/claude-agent-sdk"], way: "claude" },
    {
      name: "OpenTelemetry",
      packages: ["@opentelemetry/sdk-node", "@opentelemetry/sdk-trace-node", "@traceloop/node-server-sdk"],
      way: "opentelemetry",
    },
  ],
  python: [
    {
      name: "Pydantic AI and Logfire",
      packages: ["pydantic-ai", "pydantic-ai-slim", "logfire"],
      way: "opentelemetry",
      imports: "import logfire",
      line: "logfire.instrument_pydantic_ai()",
      where: startUp,
      place: /\bAgent\(/,
    },
    ...[
      { name: "OpenAI", packages: ["openai"], place: /\bOpenAI\(/ },
      { name: "Anthropic", packages: ["anthropic"], place: /\bAnthropic\(/ },
      {
        name: "LangChain and LangGraph",
        packages: ["langchain", "langchain-core", "langgraph"],
        place: /\.(invoke|stream)\(/,
      },
      { name: "OpenAI Agents", packages: ["openai-agents"], place: /\bRunner\.run/ },
    ].map(
      (each): Library => ({
        ...each,
        way: "sdk",
        imports: "import waymark",
        line: "@waymark.observe",
        where: "above each function that calls it",
      }),
    ),
    { name: "Claude Agent SDK", packages: ["claude-agent-sdk"], way: "claude" },
    {
      name: "OpenTelemetry",
      packages: ["opentelemetry-sdk", "opentelemetry-distro", "traceloop-sdk"],
      way: "opentelemetry",
    },
  ],
};

/** What an application without one of them does. */
export const anyLibrary: Readonly<Record<Runtime, Library>> = {
  node: {
    name: "your functions",
    packages: [],
    way: "sdk",
    imports: 'import { observe } from "@waymark/client";',
    line: "observe(fn, { name })",
    where: "around a function of your agent",
  },
  python: {
    name: "your functions",
    packages: [],
    way: "sdk",
    imports: "import waymark",
    line: "@waymark.observe",
    where: "above a function of your agent",
  },
};

/** The variables of each way, as the documents have them. */
export function variablesOf(way: Way, { url, key }: { url: string; key: string }): Record<string, string> {
  const ours = { WAYMARK_TRACE_URL: url, WAYMARK_TRACE_KEY: key };
  if (way === "sdk") return ours;
  const exporter = {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${key}`,
  };
  if (way === "opentelemetry") return { ...ours, ...exporter };
  return {
    ...ours,
    CLAUDE_CODE_ENABLE_TELEMETRY: "1",
    OTEL_LOGS_EXPORTER: "otlp",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
    ...exporter,
    OTEL_LOG_USER_PROMPTS: "1",
    OTEL_LOG_TOOL_DETAILS: "1",
  };
}
