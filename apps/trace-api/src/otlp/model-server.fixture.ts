import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";

/** A stand-in for OpenAI's chat completions. */
export interface ModelServer {
  /** The base address for clients of the API. */
  readonly url: string;
  stop(): void;
}

/** As far as the stand-in reads it: `content` is a text or a list of parts. */
interface ChatRequest {
  model: string;
  messages: { role: string; content: unknown }[];
}

/**
 * Starts a model that asks for the weather of the city that the question names, and words the answer when it has been told.
 * The model `gpt-overloaded` fails with 500.
 */
export async function startModelServer(): Promise<ModelServer> {
  const app = express();
  app.post("/v1/chat/completions", express.json(), (req, res) => {
    const { model, messages }: ChatRequest = req.body;
    if (model === "gpt-overloaded") {
      res
        .status(500)
        .send({ error: { message: "The model is overloaded", type: "server_error", param: null, code: null } });
      return;
    }
    const city = /weather in (\w+)/.exec(JSON.stringify(messages))?.[1] ?? "";
    const isTold = messages.at(-1)?.role === "tool";
    const choice = isTold
      ? { index: 0, finish_reason: "stop", message: { role: "assistant", content: `It is 18 degrees in ${city}.` } }
      : {
          index: 0,
          finish_reason: "tool_calls",
          message: { role: "assistant", content: null, tool_calls: [callFor(city)] },
        };
    res.send({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1_780_000_000,
      model,
      choices: [choice],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => void server.close().closeAllConnections() };
}

function callFor(city: string) {
  return { id: "call_1", type: "function", function: { name: "get_weather", arguments: JSON.stringify({ city }) } };
}
