import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import express from "express";

const appFolder = fileURLToPath(new URL("../..", import.meta.url));
/** Three programs take a second; a retry takes two or three more. */
const timeoutMs = 20_000;

/** The settings of a program in `clients`; its SDKs read them from the environment. */
export interface ClientOptions {
  /** The file and its arguments. */
  program: readonly string[];
  /** The address of the trace service, or of a proxy before it. */
  endpoint: string;
  key: string;
  /** The address of the model's API. */
  modelUrl: string;
  env?: Readonly<Record<string, string>>;
}

/**
 * Runs a client program to its end, as a process of its own since the SDKs change modules for good. It may reach this
 * machine only.
 * @returns its output on both streams: empty on success
 */
export async function runClient({ program: [file = "", ...args], endpoint, key, modelUrl, env }: ClientOptions) {
  const flags = ["--import", "@waymark/testing/refuse-network"];
  const child = spawn(process.execPath, [...flags, `clients/${file}`, ...args], {
    cwd: appFolder,
    timeout: timeoutMs,
    env: {
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: modelUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${key}`,
      TRACELOOP_BASE_URL: endpoint,
      TRACELOOP_API_KEY: key,
      ...env,
    },
  });
  const [said, warned, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return `${said}${warned}${code === 0 ? "" : `ended with ${code ?? signal}`}`;
}

/** Sends as an exporter does: again until the answer is 200. */
export async function deliver(url: string, key: string, body: string): Promise<void> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  for (;;) {
    const answer = await fetch(url, { method: "POST", headers, body }).catch(() => undefined);
    if (answer?.status === 200) return;
    await setTimeout(20);
  }
}

/** A stand-in for OpenAI's chat completions. */
export interface ModelServer {
  /** The base address for clients of the API. */
  readonly url: string;
  stop(): void;
}

/** As far as the stand-in reads it: `content` is a text or a list of parts. */
interface ChatRequest {
  model: string;
  stream?: boolean;
  messages: { role: string; content: unknown }[];
}

/**
 * Starts a model. It asks for the weather of the city in the question, and after the tool's result it answers.
 * It streams if asked to. The model `gpt-overloaded` fails with 500.
 */
export async function startModelServer(): Promise<ModelServer> {
  const app = express();
  app.post("/v1/chat/completions", express.json(), (req, res) => {
    const { model, messages, stream }: ChatRequest = req.body;
    if (model === "gpt-overloaded") {
      res
        .status(500)
        .send({ error: { message: "The model is overloaded", type: "server_error", param: null, code: null } });
      return;
    }
    const city = /weather in (\w+)/.exec(JSON.stringify(messages))?.[1] ?? "";
    const isTold = messages.at(-1)?.role === "tool";
    const said = isTold ? { content: `It is 18 degrees in ${city}.` } : { content: null, tool_calls: [callFor(city)] };
    const choice = { index: 0, finish_reason: isTold ? "stop" : "tool_calls" };
    const head = { id: "chatcmpl-1", created: 1_780_000_000, model };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const message = { role: "assistant", ...said };
    if (!stream) {
      res.send({ ...head, object: "chat.completion", choices: [{ ...choice, message }], usage });
      return;
    }
    const delta = isTold ? message : { ...message, tool_calls: [{ index: 0, ...callFor(city) }] };
    const chunk = { ...head, object: "chat.completion.chunk" };
    const chunks = [
      { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...chunk, choices: [{ ...choice, delta: {} }] },
      { ...chunk, choices: [], usage },
    ].map((each) => `data: ${JSON.stringify(each)}\n\n`);
    res.type("text/event-stream").send(`${chunks.join("")}data: [DONE]\n\n`);
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => void server.close().closeAllConnections() };
}

function callFor(city: string) {
  return { id: "call_1", type: "function", function: { name: "get_weather", arguments: JSON.stringify({ city }) } };
}
