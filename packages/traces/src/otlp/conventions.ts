import type { LabelName } from "../trace-fields.js";

/** As `text`, as any `json`, or by a `guess` that takes objects and arrays as JSON; invalid JSON is a string. */
export type StringFormat = "text" | "json" | "guess";

/** Attributes that together hold an input or output. Several become the members of an object. */
export interface Source {
  /** Attribute names by member. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** The member without which the source does not count. */
  readonly main?: string;
  /** The start of names with an index, such as `gen_ai.prompt` of `gen_ai.prompt.0.role`: a list. */
  readonly indexed?: string;
  /** Of an attribute with a list of events: only its choices, or all but these. */
  readonly events?: "choices" | "others";
  /** `guess` if omitted. */
  readonly format?: StringFormat;
  /** The attribute with the media type: `json` for JSON, `text` for other types. */
  readonly mediaType?: string;
}

/** Attribute names of a model call's tokens and cost; of several names the first with a usable value counts. */
export interface UsageNames {
  readonly inputTokens?: readonly string[];
  readonly outputTokens?: readonly string[];
  readonly cachedInputTokens?: readonly string[];
  readonly cacheWriteTokens?: readonly string[];
  readonly reasoningTokens?: readonly string[];
  readonly model?: readonly string[];
  readonly requestedModel?: readonly string[];
  readonly provider?: readonly string[];
  /** In dollars. */
  readonly cost?: readonly string[];
  /** Costs that add up. */
  readonly costParts?: readonly string[];
  /** JSON objects with tokens and costs by kind, apart from each other. */
  readonly tokenDetails?: string;
  readonly costDetails?: string;
}

/** A convention for naming attributes. The first source that a span has counts. */
export interface Convention {
  readonly name: string;
  readonly origin: string;
  readonly input: readonly Source[];
  readonly output: readonly Source[];
  readonly usage?: UsageNames;
}

/** Mastra names inputs and outputs by the type of the span. */
const mastraTypes = [
  ...["agent_run", "model_generation", "model_step", "model_inference", "model_chunk", "llm_generation", "tool_call"],
  ...["mcp_tool_call", "provider_tool_call", "client_tool_call", "processor_run", "workflow_run", "workflow_step"],
  ...["workflow_conditional", "workflow_parallel", "workflow_loop", "workflow_sleep", "rag_ingestion", "rag_embedding"],
  ...["rag_vector_operation", "scorer_run", "scorer_step", "memory_operation", "generic"],
];
const ofMastra = (part: string) => mastraTypes.map((type) => ({ attributes: { [part]: `mastra.${type}.${part}` } }));

/** The conventions for `input`, `output` and usage, in order of precedence. */
export const conventions: readonly Convention[] = [
  {
    name: "Langfuse",
    origin: "https://langfuse.com/integrations/native/opentelemetry",
    input: [{ attributes: { input: "langfuse.observation.input" } }],
    output: [{ attributes: { output: "langfuse.observation.output" } }],
    usage: {
      tokenDetails: "langfuse.observation.usage_details",
      costDetails: "langfuse.observation.cost_details",
      model: ["langfuse.observation.model.name"],
    },
  },
  {
    name: "OpenTelemetry, generative AI",
    origin: "https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/",
    input: [
      {
        attributes: { system_instructions: "gen_ai.system_instructions", messages: "gen_ai.input.messages" },
        main: "messages",
      },
      { attributes: { arguments: "gen_ai.tool.call.arguments" } },
      { attributes: { query: "gen_ai.retrieval.query.text" }, format: "text" },
    ],
    output: [
      { attributes: { messages: "gen_ai.output.messages" } },
      { attributes: { result: "gen_ai.tool.call.result" } },
      { attributes: { documents: "gen_ai.retrieval.documents" } },
    ],
    usage: {
      inputTokens: ["gen_ai.usage.input_tokens"],
      outputTokens: ["gen_ai.usage.output_tokens"],
      cachedInputTokens: ["gen_ai.usage.cache_read.input_tokens"],
      cacheWriteTokens: ["gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write.input_tokens"],
      reasoningTokens: ["gen_ai.usage.reasoning.output_tokens"],
      model: ["gen_ai.response.model"],
      requestedModel: ["gen_ai.request.model"],
      provider: ["gen_ai.provider.name"],
      cost: ["litellm.cost.total"],
    },
  },
  {
    name: "OpenInference",
    origin: "https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md",
    input: [{ indexed: "llm.input_messages" }, { attributes: { value: "input.value" }, mediaType: "input.mime_type" }],
    output: [
      { indexed: "llm.output_messages" },
      { attributes: { value: "output.value" }, mediaType: "output.mime_type" },
      { indexed: "retrieval.documents" },
      { indexed: "reranker.output_documents" },
    ],
    usage: {
      inputTokens: ["llm.token_count.prompt"],
      outputTokens: ["llm.token_count.completion"],
      cachedInputTokens: ["llm.token_count.prompt_details.cache_read"],
      cacheWriteTokens: ["llm.token_count.prompt_details.cache_write"],
      reasoningTokens: ["llm.token_count.completion_details.reasoning"],
      model: ["llm.model_name", "embedding.model_name", "reranker.model_name"],
      provider: ["llm.provider", "llm.system"],
      cost: ["llm.cost.total"],
      costParts: ["llm.cost.prompt", "llm.cost.completion"],
    },
  },
  {
    name: "Mastra",
    origin: "https://mastra.ai/docs/observability, @mastra/otel-exporter",
    input: ofMastra("input"),
    output: ofMastra("output"),
  },
  {
    name: "OpenLLMetry, workflows and tools",
    origin: "https://github.com/traceloop/openllmetry (semantic conventions for AI)",
    input: [{ attributes: { input: "traceloop.entity.input" }, format: "json" }],
    output: [{ attributes: { output: "traceloop.entity.output" }, format: "json" }],
  },
  {
    name: "Vercel AI SDK",
    origin: "https://ai-sdk.dev/docs/ai-sdk-core/telemetry#collected-data",
    input: [
      { attributes: { args: "ai.toolCall.args" }, format: "json" },
      { attributes: { messages: "ai.prompt.messages" } },
      { attributes: { prompt: "ai.prompt" } },
    ],
    output: [
      { attributes: { result: "ai.toolCall.result" }, format: "json" },
      { attributes: { text: "ai.response.text", toolCalls: "ai.response.toolCalls", object: "ai.response.object" } },
      { attributes: { text: "ai.result.text", toolCalls: "ai.result.toolCalls", object: "ai.result.object" } },
    ],
    usage: {
      inputTokens: ["ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens"],
      outputTokens: ["ai.usage.outputTokens", "ai.usage.completionTokens"],
      cachedInputTokens: ["ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"],
      cacheWriteTokens: ["ai.usage.inputTokenDetails.cacheWriteTokens"],
      reasoningTokens: ["ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"],
      model: ["ai.response.model"],
      requestedModel: ["ai.model.id"],
      provider: ["ai.model.provider"],
    },
  },
  {
    name: "Genkit",
    origin: "https://github.com/firebase/genkit (attributes of its tracer)",
    input: [{ attributes: { input: "genkit:input" } }],
    output: [{ attributes: { output: "genkit:output" } }],
  },
  {
    name: "LangSmith",
    origin: "https://docs.langchain.com/langsmith/trace-with-opentelemetry, langsmith 0.12.0",
    input: [],
    output: [],
    usage: { tokenDetails: "langsmith.usage_metadata", provider: ["langsmith.metadata.ls_provider"] },
  },
  {
    name: "OpenTelemetry, generative AI, before 1.28, and OpenLLMetry",
    origin: "https://github.com/open-telemetry/semantic-conventions/blob/v1.27.0/docs/gen-ai/gen-ai-spans.md",
    input: [{ attributes: { prompt: "gen_ai.prompt" } }, { indexed: "gen_ai.prompt" }],
    output: [{ attributes: { completion: "gen_ai.completion" } }, { indexed: "gen_ai.completion" }],
    usage: {
      inputTokens: ["gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"],
      outputTokens: ["gen_ai.usage.completion_tokens", "llm.usage.completion_tokens"],
      cachedInputTokens: ["gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.details.cache_read_tokens"],
      cacheWriteTokens: ["gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.details.cache_write_tokens"],
      reasoningTokens: [
        "gen_ai.usage.reasoning_tokens",
        "llm.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
      ],
      model: ["llm.response.model"],
      requestedModel: ["llm.request.model"],
      provider: ["gen_ai.system", "llm.vendor"],
      cost: ["gen_ai.usage.cost", "gen_ai.usage.total_cost", "gen_ai.cost.total_cost", "operation.cost"],
    },
  },
  {
    name: "Pydantic AI and Logfire",
    origin: "https://ai.pydantic.dev/logfire/#data-format, https://github.com/pydantic/logfire",
    input: [
      { attributes: { events: "events" }, events: "others" },
      { attributes: { messages: "pydantic_ai.all_messages" } },
      { attributes: { messages: "all_messages_events" } },
      { attributes: { arguments: "tool_arguments" } },
      { attributes: { request: "request_data" } },
    ],
    output: [
      { attributes: { events: "events" }, events: "choices" },
      { attributes: { result: "final_result" } },
      { attributes: { response: "tool_response" } },
      { attributes: { response: "response_data" } },
    ],
  },
  {
    name: "Google's ADK",
    origin: "https://github.com/google/adk-python/blob/main/src/google/adk/telemetry/tracing.py",
    input: [
      { attributes: { args: "gcp.vertex.agent.tool_call_args" } },
      { attributes: { request: "gcp.vertex.agent.llm_request" } },
      { attributes: { data: "gcp.vertex.agent.data" } },
    ],
    output: [
      { attributes: { response: "gcp.vertex.agent.tool_response" } },
      { attributes: { response: "gcp.vertex.agent.llm_response" } },
    ],
  },
  {
    name: "MLflow",
    origin: "https://github.com/mlflow/mlflow/blob/master/mlflow/tracing/constant.py",
    input: [{ attributes: { inputs: "mlflow.spanInputs" }, format: "json" }],
    output: [{ attributes: { outputs: "mlflow.spanOutputs" }, format: "json" }],
    usage: {
      tokenDetails: "mlflow.chat.tokenUsage",
      costDetails: "mlflow.llm.cost",
      model: ["mlflow.llm.model"],
      provider: ["mlflow.llm.provider"],
    },
  },
  {
    name: "Braintrust",
    origin: "https://www.braintrust.dev/docs/integrations/sdk-integrations/opentelemetry",
    input: [
      { attributes: { input: "braintrust.input_json" }, format: "json" },
      { attributes: { input: "braintrust.input" } },
    ],
    output: [
      { attributes: { output: "braintrust.output_json" }, format: "json" },
      { attributes: { output: "braintrust.output" } },
    ],
    usage: { tokenDetails: "braintrust.metrics" },
  },
  {
    name: "Claude Code",
    origin: "https://code.claude.com/docs/en/monitoring-usage#traces-beta",
    input: [
      { attributes: { prompt: "user_prompt" }, format: "text" },
      { attributes: { input: "tool_input" } },
      { attributes: { command: "full_command" }, format: "text" },
      { attributes: { context: "new_context" }, format: "text" },
    ],
    output: [{ attributes: { output: "response.model_output" } }],
    usage: {
      inputTokens: ["input_tokens"],
      outputTokens: ["output_tokens"],
      cachedInputTokens: ["cache_read_tokens"],
      cacheWriteTokens: ["cache_creation_tokens"],
      model: ["model"],
      cost: ["cost_usd"],
    },
  },
  {
    name: "Codex",
    origin: "https://github.com/openai/codex/blob/main/codex-rs/otel/src/events/session_telemetry.rs",
    input: [],
    output: [],
    usage: {
      inputTokens: ["input_token_count"],
      outputTokens: ["output_token_count"],
      cachedInputTokens: ["cached_token_count"],
      cacheWriteTokens: ["cache_write_token_count"],
      reasoningTokens: ["reasoning_token_count"],
    },
  },
];

/** The input without its cached tokens: Anthropic's own count, as Claude Code tells it. */
export const inputBesideCache = "input_tokens";

/** Spans of Strands Agents have it. They name their service or themselves as provider, https://github.com/strands-agents */
export const providerlessMark = "gen_ai.event.start_time";

/** The event of a judgement of its span, https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/ */
export const evaluationEvent = "gen_ai.evaluation.result";

export const choiceEvent = "gen_ai.choice";

/** An event with the span's input or output, for spans without attributes of these. */
export interface EventSource {
  readonly direction: "input" | "output";
  /** The attribute with the value; without it the event becomes an object of its attributes. */
  readonly attribute?: string;
  readonly role?: string;
}

/**
 * The events of OpenTelemetry's conventions for generative AI 1.27 (`gen_ai.content.*`) and 1.28 to 1.36
 * (`gen_ai.*.message`, `gen_ai.choice`), https://github.com/open-telemetry/semantic-conventions/blob/v1.36.0/docs/gen-ai/gen-ai-events.md
 */
export const eventSources: ReadonlyMap<string, EventSource> = new Map<string, EventSource>([
  ["gen_ai.content.prompt", { direction: "input", attribute: "gen_ai.prompt" }],
  ["gen_ai.content.completion", { direction: "output", attribute: "gen_ai.completion" }],
  ["gen_ai.system.message", { direction: "input", role: "system" }],
  ["gen_ai.user.message", { direction: "input", role: "user" }],
  ["gen_ai.assistant.message", { direction: "input", role: "assistant" }],
  ["gen_ai.tool.message", { direction: "input", role: "tool" }],
  [choiceEvent, { direction: "output" }],
  // Claude Code's, of a tool's span.
  ["tool.output", { direction: "output", attribute: "output" }],
]);

/** Carries the current convention's attributes in place of the span, https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/ */
export const detailsEvent = "gen_ai.client.inference.operation.details";

/** The attributes of a span for its agent, in order of precedence. */
export const agentAttributes = ["gen_ai.agent.name", "gen_ai.agent.id", "agent.name"] as const;

/** Names of root spans that do not tell the task: an operation of OpenTelemetry's conventions, or a framework's own. */
const genericName =
  /^((invoke_agent|create_agent|invoke_workflow|chat|generate_content|text_completion)( .*)?|(run_)?agent|(.*[ _-])?agent run|litellm_request|claude_code\.interaction|agent workflow|agentexecutor|langgraph|runnablesequence|chatopenai|invocation|ai\.(generate|stream)\w+|crew\.kickoff)$/i;

/** The name of an HTTP server's span, https://opentelemetry.io/docs/specs/semconv/http/http-spans/#name */
const httpName = /^(HTTP )?(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|QUERY)( \/.*)?$/;

/** Whether a root's name does not tell the task. */
export const isGeneric = (name: string) => genericName.test(name) || httpName.test(name);

/** The agent of a resource without a name (OpenTelemetry, resource semantic conventions, "Service"). */
export const unknownService = "unknown_service";

/** Langfuse's `observe` marks a thrown error like this, not by OpenTelemetry's status, https://langfuse.com/integrations/native/opentelemetry */
export const langfuseFailure = {
  level: "langfuse.observation.level",
  failed: "ERROR",
  message: "langfuse.observation.status_message",
} as const;

/** Attributes of a sender for labels, the first of a label first. */
interface LabelSource extends Partial<Record<LabelName, readonly string[]>> {
  readonly origin: string;
  /** The start of names that end with one of {@link freeLabelNames}. */
  readonly prefix?: string;
}

/** In order of precedence. Names of resources stand here, too: a span's own attributes win over those of its resource. */
export const labelSources: readonly LabelSource[] = [
  {
    origin: "https://langfuse.com/integrations/native/opentelemetry",
    session_id: ["langfuse.session.id"],
    user_id: ["langfuse.user.id"],
    environment: ["langfuse.environment"],
    release: ["langfuse.release", "langfuse.version"],
    tags: ["langfuse.trace.tags"],
    prefix: "langfuse.trace.metadata.",
  },
  {
    origin: "OpenTelemetry's registry of attributes: gen-ai, session, user, enduser, deployment, service",
    session_id: ["gen_ai.conversation.id", "session.id"],
    user_id: ["user.id", "enduser.id", "enduser.pseudo.id"],
    environment: ["deployment.environment.name", "deployment.environment"],
    release: ["service.version"],
  },
  { origin: "https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md", tags: ["tag.tags"] },
  { origin: "https://traceloop.com/docs/openllmetry/tracing/association", prefix: "traceloop.association.properties." },
  { origin: "https://ai-sdk.dev/docs/ai-sdk-core/telemetry", prefix: "ai.settings.context." },
  { origin: "https://ai-sdk.dev/docs/ai-sdk-core/telemetry, version 6", prefix: "ai.telemetry.metadata." },
  { origin: "LiteLLM, LITELLM_OTEL_V2", user_id: ["litellm.metadata.user_api_key_end_user_id", "litellm.end_user.id"] },
  { origin: "LiteLLM, LITELLM_OTEL_V2", user_id: ["litellm.metadata.user_api_key_user_id"] },
  { origin: "LiteLLM", user_id: ["metadata.user_api_key_end_user_id", "metadata.user_api_key_user_id"] },
  {
    origin: "https://docs.langchain.com/langsmith/trace-with-opentelemetry",
    tags: ["langsmith.span.tags"],
    prefix: "langsmith.metadata.",
  },
  { origin: "https://mastra.ai/docs/observability", tags: ["mastra.tags"], prefix: "mastra.metadata." },
  {
    origin: "https://mlflow.org/docs/latest/genai",
    session_id: ["mlflow.trace.session"],
    user_id: ["mlflow.trace.user"],
  },
  { origin: "https://google.github.io/adk-docs", session_id: ["gcp.vertex.agent.session_id"] },
  { origin: "https://github.com/openai/codex", session_id: ["conversation.id"], user_id: ["user.account_id"] },
  { origin: "https://logfire.pydantic.dev", tags: ["logfire.tags"] },
];

/** What people call labels in metadata of their own. */
export const freeLabelNames: Readonly<Record<LabelName, readonly string[]>> = {
  session_id: [
    ...["session_id", "sessionId", "session.id", "langfuse_session_id", "conversation_id", "conversationId"],
    ...["thread_id", "threadId", "chat_id", "chatId"],
  ],
  user_id: ["user_id", "userId", "user.id", "langfuse_user_id"],
  environment: ["environment", "env"],
  release: ["release", "version"],
  tags: ["tags", "langfuse_tags"],
};
