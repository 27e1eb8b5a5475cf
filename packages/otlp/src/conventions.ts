/**
 * How a string in an attribute is to be understood: as a `text` whatever it looks like, as `json` of any kind, or by its
 * look: what begins like an object or an array and is one counts as that. What is not JSON after all stays a string.
 */
export type Form = "text" | "json" | "look";

/** Attributes that say together what went in or came out. Where several are there, each is a member of an object. */
export interface Source {
  /** The names of the attributes, by the member that each becomes. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** The beginning of names with an index behind it, such as `gen_ai.prompt` of `gen_ai.prompt.0.role`: a list. */
  readonly indexed?: string;
  /** How strings are to be understood; by their look where omitted. */
  readonly form?: Form;
  /** The attribute that tells the media type; JSON there counts as `json`, another type as `text`. */
  readonly mediaType?: string;
}

/** A convention for naming attributes; of its sources the first that a span has counts. */
export interface Convention {
  readonly name: string;
  /** Where it is written down. */
  readonly origin: string;
  readonly input: readonly Source[];
  readonly output: readonly Source[];
}

/** The conventions that fill `input` and `output`. Of those that a span follows the first counts. */
export const conventions: readonly Convention[] = [
  {
    name: "Langfuse",
    origin: "https://langfuse.com/integrations/native/opentelemetry",
    input: [{ attributes: { input: "langfuse.observation.input" } }],
    output: [{ attributes: { output: "langfuse.observation.output" } }],
  },
  {
    name: "OpenTelemetry, generative AI",
    origin: "https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/",
    input: [
      { attributes: { system_instructions: "gen_ai.system_instructions", messages: "gen_ai.input.messages" } },
      { attributes: { arguments: "gen_ai.tool.call.arguments" } },
    ],
    output: [
      { attributes: { messages: "gen_ai.output.messages" } },
      { attributes: { result: "gen_ai.tool.call.result" } },
    ],
  },
  {
    name: "OpenInference",
    origin: "https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md",
    input: [{ attributes: { value: "input.value" }, mediaType: "input.mime_type" }, { indexed: "llm.input_messages" }],
    output: [
      { attributes: { value: "output.value" }, mediaType: "output.mime_type" },
      { indexed: "llm.output_messages" },
    ],
  },
  {
    name: "OpenLLMetry, workflows and tools",
    origin: "https://github.com/traceloop/openllmetry (semantic conventions for AI)",
    input: [{ attributes: { input: "traceloop.entity.input" }, form: "json" }],
    output: [{ attributes: { output: "traceloop.entity.output" }, form: "json" }],
  },
  {
    name: "Vercel AI SDK",
    origin: "https://ai-sdk.dev/docs/ai-sdk-core/telemetry#collected-data",
    input: [
      { attributes: { args: "ai.toolCall.args" }, form: "json" },
      { attributes: { messages: "ai.prompt.messages" } },
      { attributes: { prompt: "ai.prompt" } },
    ],
    output: [
      { attributes: { result: "ai.toolCall.result" }, form: "json" },
      { attributes: { text: "ai.response.text", toolCalls: "ai.response.toolCalls", object: "ai.response.object" } },
      { attributes: { text: "ai.result.text", toolCalls: "ai.result.toolCalls", object: "ai.result.object" } },
    ],
  },
  {
    name: "Genkit",
    origin: "https://github.com/firebase/genkit (attributes of its tracer)",
    input: [{ attributes: { input: "genkit:input" } }],
    output: [{ attributes: { output: "genkit:output" } }],
  },
  {
    name: "OpenTelemetry, generative AI, before 1.28, and OpenLLMetry",
    origin: "https://github.com/open-telemetry/semantic-conventions/blob/v1.27.0/docs/gen-ai/gen-ai-spans.md",
    input: [{ attributes: { prompt: "gen_ai.prompt" } }, { indexed: "gen_ai.prompt" }],
    output: [{ attributes: { completion: "gen_ai.completion" } }, { indexed: "gen_ai.completion" }],
  },
];

/** What a span event says: the span's input or output, where no attribute says it. */
export interface EventSource {
  readonly direction: "input" | "output";
  /** The one attribute that has it; without it the event becomes an object of its attributes. */
  readonly attribute?: string;
  /** The member `role` of that object. */
  readonly role?: string;
}

/**
 * Events that fill `input` and `output`, by their name: those of OpenTelemetry's conventions for generative AI from 1.27
 * (`gen_ai.content.*`) and from 1.28 to 1.36 (`gen_ai.*.message`, `gen_ai.choice`),
 * https://github.com/open-telemetry/semantic-conventions/blob/v1.36.0/docs/gen-ai/gen-ai-events.md
 */
export const eventSources: ReadonlyMap<string, EventSource> = new Map<string, EventSource>([
  ["gen_ai.content.prompt", { direction: "input", attribute: "gen_ai.prompt" }],
  ["gen_ai.content.completion", { direction: "output", attribute: "gen_ai.completion" }],
  ["gen_ai.system.message", { direction: "input", role: "system" }],
  ["gen_ai.user.message", { direction: "input", role: "user" }],
  ["gen_ai.assistant.message", { direction: "input", role: "assistant" }],
  ["gen_ai.tool.message", { direction: "input", role: "tool" }],
  ["gen_ai.choice", { direction: "output" }],
]);

/**
 * The event that carries the attributes of the present convention instead of the span,
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/
 */
export const detailsEvent = "gen_ai.client.inference.operation.details";

/** The attributes of a root span that name the agent, the first that is there counts; else `service.name` of its resource. */
export const agentAttributes = ["gen_ai.agent.name", "gen_ai.agent.id", "agent.name"] as const;

/** What an agent is called whose resource has no name (OpenTelemetry, resource semantic conventions, "Service"). */
export const unknownService = "unknown_service";

/**
 * How Langfuse's `observe` tells that a function threw: it leaves OpenTelemetry's status unset,
 * https://langfuse.com/integrations/native/opentelemetry
 */
export const langfuseFailure = {
  level: "langfuse.observation.level",
  failed: "ERROR",
  message: "langfuse.observation.status_message",
} as const;
