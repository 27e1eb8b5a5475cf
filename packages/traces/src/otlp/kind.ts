import { jsonMembers } from "@waymark/service/fields";
import { type AgentKind, agentKinds, type Instrumentation, instrumentations, type SpanKind } from "../statuses.js";
import { textOfValue } from "./any-value.js";
import type { KeyValue } from "./request.js";

/** Attributes with the kind of a span, in order of precedence: a value without a kind below leaves it to the next. */
const named = [
  "gen_ai.operation.name",
  "openinference.span.kind",
  "langfuse.observation.type",
  "traceloop.span.kind",
  "mastra.span.type",
  "langsmith.span.kind",
  "mlflow.spanType",
  "braintrust.span_attributes",
  "genkit:metadata:subtype",
  "ai.operationId",
  "span.type",
  "llm.request.type",
] as const;

/** Attributes that spans of one kind alone have, for senders that do not tell it. */
const telling: Readonly<Record<string, SpanKind>> = {
  "gcp.vertex.agent.llm_request": "model",
  "gcp.vertex.agent.tool_call_args": "tool",
  "pydantic_ai.all_messages": "agent",
  all_messages_events: "agent",
  "gen_ai.evaluation.name": "evaluation",
  "gen_ai.tool.name": "tool",
  "gen_ai.request.model": "model",
};

/** The values of {@link named} by kind, in lower case and without the words that senders put around them. */
const valuesOf: Readonly<Record<AgentKind, readonly string[]>> = {
  model: [
    ...["llm", "model", "chat", "chat_model", "chat.completions", "completion", "text_completion", "text.completions"],
    ...["generate_content", "generation", "llm_generation", "model_inference", "llm_request", "response"],
    ...["responses", "embedding", "embeddings", "embedder", "image_generation", "speech", "transcription"],
    ...["ai.generatetext.dogenerate", "ai.streamtext.dostream", "ai.generateobject.dogenerate"],
    ...["ai.streamobject.dostream", "ai.embed.doembed", "ai.embedmany.doembed", "ai.rerank.dorerank"],
  ],
  agent: [
    ...["agent", "agent_run", "invoke_agent", "create_agent", "interaction", "handoff"],
    ...["ai.generatetext", "ai.streamtext", "ai.generateobject", "ai.streamobject"],
  ],
  tool: [
    ...["tool", "tool_call", "mcp_tool_call", "provider_tool_call", "client_tool_call", "execute_tool", "function"],
    ...["tool.execution", "tool.blocked_on_user", "ai.toolcall"],
  ],
  retrieval: ["retrieval", "retriever", "reranker", "rerank", "rag_vector_operation"],
  evaluation: [
    ...["evaluation", "evaluator", "evaluate", "eval", "score", "scorer", "scorer_run", "guardrail", "judge"],
  ],
  chain: [
    ...["chain", "workflow", "workflow_run", "workflow_step", "invoke_workflow", "task", "flow", "prompt", "parser"],
    ...["ai.embed", "ai.embedmany", "ai.rerank", "plan", "processor_run"],
    ...["agent_step", "model_step", "model_generation"],
  ],
};

const kinds = new Map<string, SpanKind>(agentKinds.flatMap((kind) => valuesOf[kind].map((value) => [value, kind])));

const ranks = new Map<string, number>([...named, ...Object.keys(telling)].map((name, rank) => [name, rank]));
const knownKeys = { includes: (key: string) => ranks.has(key) };

/** Longer values name no kind. */
const maxValue = 200;

/** The kind that a span's attributes tell, by every convention; `other` where they tell none. */
export function kindOfAttributes(attributes: readonly KeyValue[]): SpanKind {
  let kind: SpanKind = "other";
  let best = Number.POSITIVE_INFINITY;
  for (const { key, value } of attributes) {
    const rank = ranks.get(key);
    if (rank === undefined || rank >= best) continue;
    const told = telling[key] ?? kindOfText(textOfValue(value) ?? "");
    if (told === undefined) continue;
    kind = told;
    best = rank;
  }
  return kind;
}

/** @param json the attributes as a valid JSON object */
export function kindOfJson(json: string): SpanKind {
  const found = [...jsonMembers(json, knownKeys)].flatMap(([key, text]) => {
    const value: unknown = text.startsWith('"') ? JSON.parse(text) : text;
    return typeof value === "string" ? [{ key, value: { value: "stringValue", stringValue: value } as const }] : [];
  });
  return kindOfAttributes(found);
}

/** MLflow quotes its value; Braintrust's is the member `type` of an object. */
function kindOfText(text: string): SpanKind | undefined {
  if (text.length > maxValue) return undefined;
  const [, type = text] = (text.startsWith("{") && /"type"\s*:\s*"(\w+)"/.exec(text)) || [];
  return kinds.get((type.startsWith('"') ? type.slice(1, -1) : type).toLowerCase());
}

/** What an instrumentation's scope is called without the words that SDKs put around it, by what it observes. */
const scopesOf = {
  http: [
    ...["http", "undici", "fetch", "xml-http-request", "requests", "urllib", "urllib3", "httpx", "aiohttp_client"],
    ...["aiohttp-client", "okhttp", "java-http-client", "http-url-connection", "apache-httpclient", "otelhttp"],
    ...["grpc", "grpc-js", "otelgrpc", "net-http", "system.net.http"],
  ],
  fs: ["fs"],
  net: ["net", "tls", "socket.io"],
  dns: ["dns"],
  database: [
    ...["pg", "mysql", "mysql2", "redis", "ioredis", "mongodb", "mongoose", "knex", "cassandra-driver", "memcached"],
    ...["tedious", "oracledb", "typeorm", "prisma", "sqlalchemy", "psycopg", "psycopg2", "asyncpg", "aiopg", "pymysql"],
    ...["mysqlclient", "sqlite3", "dbapi", "pymongo", "cassandra", "pymemcache", "elasticsearch", "jdbc", "jedis"],
    ...["lettuce", "mongo", "r2dbc", "otelsql", "npgsql", "sqlclient", "entityframeworkcore", "stackexchangeredis"],
  ],
} as const satisfies Record<Instrumentation, readonly string[]>;

const byScope: ReadonlyMap<string, Instrumentation> = new Map(
  instrumentations.flatMap((name) => scopesOf[name].map((scope): [string, Instrumentation] => [scope, name])),
);

/** `@opentelemetry/instrumentation-pg`, `opentelemetry.instrumentation.requests`, `io.opentelemetry.okhttp-3.0`, otelhttp's path. */
const around =
  /^(?:@opentelemetry\/instrumentation-|@prisma\/instrumentation-|opentelemetry[.-]instrumentation[.-]|io\.opentelemetry\.|go\.opentelemetry\.io\/.*\/|@)|(?:\/instrumentation|-v?\d[\d.]*)$/g;

const maxScopeName = 200;

/** What the spans of a scope observe, where it is an instrumentation of the list. */
export function instrumentationOf(scope: string): Instrumentation | null {
  if (scope.length > maxScopeName) return null;
  return byScope.get(scope.toLowerCase().replace(around, "")) ?? null;
}
