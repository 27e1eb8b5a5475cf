import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { plans, utcMonth } from "@waymark/plan";
import { freePort, useDatabase } from "@waymark/testing";
import { type ServiceProcess, startService } from "../service.fixture.js";
import { type FaultyProxy, openFaultyProxy, type Refusal } from "../service-tests/faulty-proxy.fixture.js";
import { type ClientOptions, type ModelServer, runClient, startModelServer } from "./clients.fixture.js";

/** The answers of a service in trouble. */
const retryAfter = { "Retry-After": "1" };

const database = useDatabase();
const prisma = createPrisma(database.pool);
let service: ServiceProcess;
let grpcPort: number;
let model: ModelServer;
let proxies: FaultyProxy[] = [];
let accounts = 0;

beforeAll(async () => {
  model = await startModelServer();
  grpcPort = await freePort();
  service = await startService({ databaseUrl: database.url, env: { OTLP_GRPC_PORT: String(grpcPort) } });
});
afterEach(async () => {
  for (const proxy of proxies) await proxy.close();
  proxies = [];
});
afterAll(async () => {
  model.stop();
  await service.end("SIGTERM");
});

/** A span as a client reads it, with its children by start. */
interface Step {
  name: string;
  status: string;
  input: unknown;
  output: unknown;
  error: string | null;
  steps: Step[];
}

/** A trace to compare, and its number of alerts. */
interface ExpectedTrace {
  agent_id: string;
  name: string;
  status: string;
  mails: number;
  steps: Step[];
}

interface StoredSpan extends Omit<Step, "steps"> {
  id: string;
  parent_span_id: string | null;
  started_at: string;
  ended_at: string | null;
  attributes: Record<string, unknown> | null;
  otel: { scope: { name: string } };
}

interface StoredTrace {
  agent_id: string;
  name: string;
  status: string;
  started_at: string;
  ended_at: string | null;
  spans: StoredSpan[];
}

function serviceUrl(): string {
  return `http://127.0.0.1:${service.port}`;
}

async function startProxy(faults: readonly Refusal[] = []): Promise<FaultyProxy> {
  const proxy = await openFaultyProxy(service.port, (count) => faults[count - 1] ?? "pass");
  proxies.push(proxy);
  return proxy;
}

async function makeAccount() {
  const account = await createAccount(prisma, { email: `client-${++accounts}@example.com`, plan: "pro" });
  const { key } = await issueKey(database.pool, { accountId: account.id, service: "trace", name: "test" });
  return { id: account.id, key };
}

type Account = Awaited<ReturnType<typeof makeAccount>>;

/** Runs a client against the service or a proxy before it, and returns its complaints. */
function listenTo(account: Account, program: string, options: Partial<ClientOptions> = {}): Promise<string> {
  const defaults = { endpoint: serviceUrl(), key: account.key, modelUrl: model.url };
  return runClient({ program: program.split(" "), ...defaults, ...options });
}

/** Runs a client and expects no complaints. */
async function send(account: Account, program: string, options: Partial<ClientOptions> = {}): Promise<void> {
  expect(await listenTo(account, program, options)).toBe("");
}

/** The account's traces, oldest first, and the number of their alerts. */
async function findTraces({ id }: Account): Promise<{ id: string; mails: number }[]> {
  const { rows } = await database.pool.query(
    `SELECT t.id, (SELECT count(*)::int FROM alert a WHERE a.account_id = t.account_id AND a.trace_id = t.id) AS mails
     FROM trace t WHERE t.account_id = $1 ORDER BY t.started_at`,
    [id],
  );
  return rows;
}

async function readTrace(account: Account, id: string): Promise<StoredTrace> {
  const headers = { Authorization: `Bearer ${account.key}` };
  const answer = await fetch(`${serviceUrl()}/api/v1/traces/${id}?include=attributes`, { headers });
  expect(answer.status).toBe(200);
  return (await answer.json()) as StoredTrace;
}

/** The account's traces, oldest first, read as a client does. */
async function readRuns(account: Account): Promise<ExpectedTrace[]> {
  const found = await findTraces(account);
  return Promise.all(found.map(async ({ id, mails }) => ({ ...asRun(await readTrace(account, id)), mails })));
}

/** The further attributes of the first span of a name, in the account's first trace. */
async function readKept(account: Account, name: string) {
  const [first] = await findTraces(account);
  const { spans } = await readTrace(account, first?.id ?? "");
  const span = spans.find((each) => each.name === name);
  return { attributes: span?.attributes, scope: span?.otel.scope.name };
}

/** A trace as it is compared: its spans as a tree, none left over, and its own times those of the root. */
function asRun({ agent_id, name, status, started_at, ended_at, spans }: StoredTrace): Omit<ExpectedTrace, "mails"> {
  const sorted = spans.toSorted((a, b) => (a.started_at.replace("Z", "") < b.started_at.replace("Z", "") ? -1 : 1));
  const below = (parent: string | null): Step[] =>
    sorted
      .filter((span) => span.parent_span_id === parent)
      .map(({ id, name, status, input, output, error }) => ({ name, status, input, output, error, steps: below(id) }));
  const steps = below(null);
  expect(countSteps(steps)).toBe(spans.length);
  const root = spans.find((span) => span.parent_span_id === null);
  expect({ started_at, ended_at }).toEqual({ started_at: root?.started_at, ended_at: root?.ended_at });
  return { agent_id, name, status, steps };
}

async function setUsed({ id }: Account, traces: number): Promise<void> {
  const sql = "INSERT INTO trace_usage (account_id, month, traces) VALUES ($1, $2, $3)";
  await database.pool.query(sql, [id, utcMonth(new Date()).firstDay, traces]);
}

/** The account's count of the month. */
async function countUsed({ id }: Account): Promise<number> {
  const { rows } = await database.pool.query("SELECT traces FROM trace_usage WHERE account_id = $1", [id]);
  return rows[0]?.traces;
}

function countSteps(steps: readonly Step[]): number {
  return steps.reduce((sum, step) => sum + 1 + countSteps(step.steps), 0);
}

/** A successful span with the given fields only. */
function step(name: string, changes: Partial<Step>): Step {
  return { name, status: "ok", input: null, output: null, error: null, steps: [], ...changes };
}

/** The trace of a root span: it has the end of its root, and an alert if that failed. */
function expectedTrace(agentId: string, root: Step): ExpectedTrace {
  const failed = root.status === "error";
  return {
    agent_id: agentId,
    name: root.name,
    status: failed ? "error" : "success",
    mails: failed ? 1 : 0,
    steps: [root],
  };
}

const noStation = "No weather station in Atlantis";
const overloaded = "500 The model is overloaded";
const weather = { city: "Paris", celsius: 18 };
const answered = "It is 18 degrees in Paris.";
const ask = (city: string) => `What is the weather in ${city}?`;

/** The messages of a trace in the form of the chat API. */
const chat = {
  user: (city: string) => ({ role: "user", content: ask(city) }),
  call: (city: string) => ({
    role: "assistant",
    content: null,
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "get_weather", arguments: JSON.stringify({ city }) } },
    ],
  }),
  told: { role: "tool", tool_call_id: "call_1", content: JSON.stringify(weather) },
  answer: { role: "assistant", content: answered },
};

/** The messages of a trace in the form of the OpenTelemetry conventions. */
const parts = {
  user: (city: string) => ({ role: "user", parts: [{ type: "text", content: ask(city) }] }),
  call: (city: string) => ({
    role: "assistant",
    parts: [{ type: "tool_call", id: "call_1", name: "get_weather", arguments: { city } }],
  }),
  told: (response: unknown) => ({ role: "tool", parts: [{ type: "tool_call_response", id: "call_1", response }] }),
  answer: { role: "assistant", parts: [{ type: "text", content: answered }] },
};

/** Runs of `exporter.mjs`. */
const handmadeRuns = (() => {
  const calls = (city: string) =>
    step("chat gpt-4o-mini", {
      input: [parts.user(city)],
      output: [{ ...parts.call(city), finish_reason: "tool_calls" }],
    });
  const tool = (changes: Partial<Step>) => step("execute_tool get_weather", changes);
  const answers = step("chat gpt-4o-mini", {
    input: [parts.user("Paris"), parts.call("Paris"), parts.told(weather)],
    output: [{ ...parts.answer, finish_reason: "stop" }],
  });
  const fails = step("chat gpt-overloaded", { status: "error", input: [parts.user("Paris")], error: overloaded });
  const failed = tool({ status: "error", input: { city: "Atlantis" }, error: noStation });
  const steps = [calls("Paris"), tool({ input: { city: "Paris" }, output: weather }), answers];
  return [
    step("weather in Paris", { steps }),
    step("weather in Atlantis", { status: "error", error: noStation, steps: [calls("Atlantis"), failed] }),
    step("weather without a model", { status: "error", error: overloaded, steps: [fails] }),
  ].map((root) => expectedTrace("weather-agent", root));
})();

describe.each([
  ["@opentelemetry/exporter-trace-otlp-proto", "exporter.mjs proto"],
  ["@opentelemetry/exporter-trace-otlp-http", "exporter.mjs http"],
])("%s", (_, program) => {
  it("delivers a trace that succeeds, one whose tool fails and one whose model fails", async () => {
    const account = await makeAccount();
    await send(account, program);
    expect(await readRuns(account)).toEqual(handmadeRuns);
    expect(await readKept(account, "chat gpt-4o-mini")).toEqual({
      scope: "weather-agent",
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
      },
    });
  });

  it("delivers the same with gzip", async () => {
    const account = await makeAccount();
    const proxy = await startProxy();
    await send(account, program, { endpoint: proxy.url, env: { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" } });
    expect(proxy.seen.map(({ encoding }) => encoding)).toEqual(["gzip"]);
    expect(await readRuns(account)).toEqual(handmadeRuns);
  });

  it.each([
    ["is refused with 429 and Retry-After", { status: 429, headers: retryAfter, isPassedOn: false }],
    ["is refused with 503 and Retry-After", { status: 503, headers: retryAfter, isPassedOn: false }],
    [
      "is answered with 503 and Retry-After after the service committed it",
      { status: 503, headers: retryAfter, isPassedOn: true },
    ],
  ])("delivers once what at first %s", async (__, fault) => {
    const account = await makeAccount();
    const proxy = await startProxy([fault]);
    await send(account, program, { endpoint: proxy.url });
    expect(proxy.seen.map(({ status }) => status)).toEqual([fault.status, 200]);
    expect(await readRuns(account)).toEqual(handmadeRuns);
    expect(await countUsed(account)).toBe(3);
  });

  it("reports to its program which limit refused one trace of three", async () => {
    const account = await makeAccount();
    await setUsed(account, plans.pro.tracesPerMonth - 2);
    const said = await listenTo(account, program);
    expect(said).toContain(`over the limit of ${plans.pro.tracesPerMonth} traces a month`);
    const stored = await readRuns(account);
    expect(stored).toHaveLength(2);
    expect(handmadeRuns).toEqual(expect.arrayContaining(stored));
    const refused = Number(/"rejectedSpans":"?(\d+)/.exec(said)?.[1]);
    const countOf = (traces: readonly ExpectedTrace[]) => countSteps(traces.flatMap(({ steps }) => steps));
    expect(refused).toBe(countOf(handmadeRuns) - countOf(stored));
    expect(await countUsed(account)).toBe(plans.pro.tracesPerMonth);
  });
});

describe("@opentelemetry/exporter-trace-otlp-grpc", () => {
  it.each(["none", "gzip"])("delivers the same over gRPC, compression: %s", async (compression) => {
    const account = await makeAccount();
    await send(account, "exporter.mjs grpc", {
      endpoint: `http://127.0.0.1:${grpcPort}`,
      env: { OTEL_EXPORTER_OTLP_COMPRESSION: compression },
    });
    expect(await readRuns(account)).toEqual(handmadeRuns);
  });
});

describe("a browser, a gateway and an agent, a process each", () => {
  const services = ["browser", "gateway", "agent"];

  it.each([...services, "all", "none"])("deliver one run, with one mail for whoever fails: %s", async (failing) => {
    const account = await makeAccount();
    await send(account, `processes.mjs ${failing}`);
    const failed = (service: string) =>
      failing === service || failing === "all" ? { status: "error", error: `the ${service} fails` } : { status: "ok" };
    const request = services.reduceRight<Step | undefined>((callee, service) => {
      const call = callee ? step(`call ${callee.name.split(" ")[0]}`, { steps: [callee] }) : step("work", {});
      return step(`${service} request`, { ...failed(service), steps: [call] });
    }, undefined);
    const run = { ...expectedTrace("browser", request ?? step("", {})), mails: failing === "none" ? 0 : 1 };
    expect(await readRuns(account)).toEqual([run]);
  });
});

describe("@traceloop/node-server-sdk", () => {
  const agent = (changes: Partial<Step>) => step("weather-agent.agent", changes);
  const workflow = (name: string, changes: Partial<Step>) =>
    expectedTrace("weather-agent", step(`${name}.workflow`, changes));
  const asked = (city: string) => ({ args: [ask(city)], kwargs: {} });
  const calls = (city: string) =>
    step("chat gpt-4o-mini", {
      input: [parts.user(city)],
      output: [{ ...parts.call(city), finish_reason: "tool_call" }],
    });
  const answers = (city: string, told: unknown) =>
    step("chat gpt-4o-mini", {
      input: [parts.user(city), parts.call(city), parts.told(JSON.stringify(told))],
      output: [{ role: "assistant", finish_reason: "stop", parts: [{ type: "text", content: wording(city) }] }],
    });
  const wording = (city: string) => `It is 18 degrees in ${city}.`;

  it("delivers workflow, agent, tool and model calls of a trace, a tool that fails and a model that fails", async () => {
    const account = await makeAccount();
    await send(account, "traceloop.mjs");
    const kept = await readKept(account, "chat gpt-4o-mini");
    expect(kept).toEqual({
      scope: "@traceloop/instrumentation-openai",
      attributes: expect.objectContaining({ "gen_ai.agent.name": "weather-agent", "gen_ai.usage.input_tokens": 10 }),
    });
    const failure = { error: noStation };
    const failed = { status: "error", error: noStation, input: { args: [], kwargs: { city: "Atlantis" } } };
    const noModel = { input: asked("Paris"), output: { error: overloaded } };
    expect(await readRuns(account)).toEqual([
      workflow("weather in Paris", {
        input: asked("Paris"),
        output: answered,
        steps: [
          agent({
            input: asked("Paris"),
            output: answered,
            steps: [
              calls("Paris"),
              step("get_weather.tool", { input: { args: [], kwargs: { city: "Paris" } }, output: weather }),
              answers("Paris", weather),
            ],
          }),
        ],
      }),
      workflow("weather in Atlantis", {
        input: asked("Atlantis"),
        output: wording("Atlantis"),
        steps: [
          agent({
            input: asked("Atlantis"),
            output: wording("Atlantis"),
            steps: [
              calls("Atlantis"),
              step("get_weather.tool", { ...failed, output: failure }),
              answers("Atlantis", failure),
            ],
          }),
        ],
      }),
      workflow("weather without a model", {
        ...noModel,
        steps: [agent({ ...noModel, status: "error", error: overloaded })],
      }),
    ]);
  });

  // The SDK never ends the span of a rejected function or model call, nor the spans around it.
  it("leaves a trace running if the program lets its failure through", async () => {
    const account = await makeAccount();
    await send(account, "traceloop.mjs uncaught");
    const found = await findTraces(account);
    const traces = await Promise.all(found.map(({ id }) => readTrace(account, id)));
    expect(traces.map(({ name, status }) => ({ name, status }))).toEqual([
      { name: "weather in Paris.workflow", status: "success" },
      { name: "What is the weather in Atlantis?", status: "running" },
    ]);
    expect(traces[1]).toMatchObject({ agent_id: "weather-agent", ended_at: null });
    expect(traces[1]?.spans).toEqual([
      expect.objectContaining({ input: [parts.user("Atlantis")], parent_span_id: expect.any(String) }),
    ]);
  });
});

describe("@langfuse/otel", () => {
  const calls = (city: string) => step("chat", { input: [chat.user(city)], output: chat.call(city) });
  const answers = step("chat", { input: [chat.user("Paris"), chat.call("Paris"), chat.told], output: chat.answer });
  const failed = (error: string) => ({ status: "error", error });

  it("delivers a trace that succeeds, one whose tool fails and one whose model fails", async () => {
    const account = await makeAccount();
    await send(account, "langfuse.mjs");
    const kept = await readKept(account, "chat");
    expect(kept).toEqual({
      scope: "langfuse-sdk",
      attributes: {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "gpt-4o-mini",
        "langfuse.observation.usage_details": JSON.stringify({ input: 10, output: 5 }),
      },
    });
    const agent = (name: string, changes: Partial<Step>) => expectedTrace("weather-service", step(name, changes));
    expect(await readRuns(account)).toEqual([
      agent("weather in Paris", {
        input: ask("Paris"),
        output: answered,
        steps: [calls("Paris"), step("get_weather", { input: { city: "Paris" }, output: weather }), answers],
      }),
      agent("weather in Atlantis", {
        ...failed(noStation),
        input: ask("Atlantis"),
        output: { error: `Error: ${noStation}` },
        steps: [
          calls("Atlantis"),
          step("get_weather", {
            ...failed(noStation),
            input: { city: "Atlantis" },
            output: { error: `Error: ${noStation}` },
          }),
        ],
      }),
      agent("weather without a model", {
        ...failed(overloaded),
        input: ask("Paris"),
        output: { error: `Error: ${overloaded}` },
        steps: [step("chat", { ...failed(overloaded), input: [chat.user("Paris")] })],
      }),
    ]);
  });
});

describe.each([
  {
    generate: "generateText",
    doGenerate: "doGenerate",
    program: "vercel-ai.mjs",
    callOf: (city: string) => ({ input: JSON.stringify({ city }) }),
  },
  {
    generate: "streamText",
    doGenerate: "doStream",
    program: "vercel-ai.mjs stream",
    callOf: (city: string) => ({ type: "tool-call", input: { city } }),
  },
])("ai (the Vercel AI SDK), $generate", ({ generate, doGenerate, program, callOf }) => {
  it("delivers a trace that succeeds, one whose tool fails and one whose model fails", async () => {
    const account = await makeAccount();
    await send(account, program);
    const kept = await readKept(account, "ai.toolCall");
    expect(kept).toEqual({
      scope: "ai",
      attributes: expect.objectContaining({
        "ai.telemetry.functionId": "weather in Paris",
        "ai.toolCall.id": "call_1",
      }),
    });
    const generated = (changes: Partial<Step> & { input: { prompt: string } }) => {
      const trace = expectedTrace("weather-service", step(`ai.${generate}`, changes));
      return { ...trace, name: changes.input.prompt };
    };
    const user = (city: string) => ({ role: "user", content: [{ type: "text", text: ask(city) }] });
    const called = (city: string) => ({
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "call_1", toolName: "get_weather", input: { city } }],
    });
    const told = (output: unknown) => ({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "call_1", toolName: "get_weather", output }],
    });
    const calls = (city: string) =>
      step(`ai.${generate}.${doGenerate}`, {
        input: [user(city)],
        output: [{ toolCallId: "call_1", toolName: "get_weather", ...callOf(city) }],
      });
    const answers = (city: string, output: unknown) =>
      step(`ai.${generate}.${doGenerate}`, {
        input: [user(city), called(city), told(output)],
        output: `It is 18 degrees in ${city}.`,
      });
    // Since Node 24 the context follows a stream to its reader: the SDK's tools then run within the model's span.
    const isNested = generate === "streamText" && Number.parseInt(process.versions.node, 10) >= 24;
    const withTool = (call: Step, tool: Step) => (isNested ? [{ ...call, steps: [tool] }] : [call, tool]);
    const failed = { status: "error", error: "The model is overloaded" };
    expect(await readRuns(account)).toEqual([
      generated({
        input: { prompt: ask("Paris") },
        output: answered,
        steps: [
          ...withTool(calls("Paris"), step("ai.toolCall", { input: { city: "Paris" }, output: weather })),
          answers("Paris", { type: "json", value: weather }),
        ],
      }),
      // The SDK reports the failed tool to the model and goes on.
      generated({
        input: { prompt: ask("Atlantis") },
        output: "It is 18 degrees in Atlantis.",
        steps: [
          ...withTool(
            calls("Atlantis"),
            step("ai.toolCall", { status: "error", input: { city: "Atlantis" }, error: noStation }),
          ),
          answers("Atlantis", { type: "error-text", value: noStation }),
        ],
      }),
      generated({
        ...failed,
        input: { prompt: ask("Paris") },
        steps: [step(`ai.${generate}.${doGenerate}`, { ...failed, input: [user("Paris")] })],
      }),
    ]);
  });
});

describe("@arizeai/openinference-instrumentation-openai", () => {
  it("delivers a trace that succeeds, one whose tool fails, and of one whose model fails the root", async () => {
    const account = await makeAccount();
    await send(account, "openinference.mjs");
    const kept = await readKept(account, "get_weather");
    expect(kept).toEqual({
      scope: "openinference-core",
      attributes: expect.objectContaining({ "openinference.span.kind": "TOOL" }),
    });
    const agent = (name: string, changes: Partial<Step>) => expectedTrace("weather-agent", step(name, changes));
    const failed = (error: string) => ({ status: "error", error });
    const completed = (messages: unknown[], message: unknown) =>
      step("OpenAI Chat Completions", { input: messages, output: [message] });
    const call = (city: string) => {
      return {
        role: "assistant",
        tool_calls: [{ id: "call_1", function: { name: "get_weather", arguments: { city } } }],
      };
    };
    const calls = (city: string) => completed([chat.user(city)], call(city));
    const told = { role: "tool", tool_call_id: "call_1", content: weather };
    expect(await readRuns(account)).toEqual([
      agent("weather in Paris", {
        input: ask("Paris"),
        output: answered,
        steps: [
          calls("Paris"),
          step("get_weather", { input: { city: "Paris" }, output: weather }),
          completed([chat.user("Paris"), call("Paris"), told], chat.answer),
        ],
      }),
      agent("weather in Atlantis", {
        ...failed(noStation),
        input: ask("Atlantis"),
        steps: [calls("Atlantis"), step("get_weather", { ...failed(noStation), input: { city: "Atlantis" } })],
      }),
      // The instrumentation never ends the span of a failed call.
      agent("weather without a model", { ...failed(overloaded), input: ask("Paris") }),
    ]);
  });

  it("delivers what a streamed answer says, and the tool that it calls", async () => {
    const account = await makeAccount();
    await send(account, "openinference.mjs stream");
    const [first] = await readRuns(account);
    const called = { id: "call_1", function: { name: "get_weather", arguments: { city: "Paris" } } };
    const message = { role: "assistant", content: "", tool_calls: [called] };
    expect(first?.steps[0]?.steps).toMatchObject([
      { name: "OpenAI Chat Completions", input: [chat.user("Paris")], output: [message] },
      step("get_weather", { input: { city: "Paris" }, output: weather }),
      { name: "OpenAI Chat Completions", output: [{ role: "assistant", content: answered }] },
    ]);
  });
});
