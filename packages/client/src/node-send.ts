import type { ClientRequest, IncomingMessage } from "node:http";
import type { Answer, Send, SendInit } from "./transport.js";

/**
 * Sends requests that do not keep a Node process alive, which `fetch` cannot: a program ends although the service hangs.
 * @returns undefined elsewhere
 */
export function createNodeSend(): Send | undefined {
  if (typeof process === "undefined" || !process.versions?.node || process.versions["bun"]) return undefined;
  if (typeof process.getBuiltinModule !== "function" || "Deno" in globalThis) return undefined;
  const load = { "http:": loader("node:http"), "https:": loader("node:https") };
  return (url, init) => {
    const target = new URL(url);
    const { module, agent } = load[target.protocol === "https:" ? "https:" : "http:"]();
    return exchange(module.request(target, { method: init.method, agent, signal: init.signal }), init);
  };
}

/** The module is loaded with the first request. */
function loader(name: "node:http" | "node:https") {
  const open = () => {
    const module = process.getBuiltinModule(name) as typeof import("node:http");
    return { module, agent: new module.Agent({ keepAlive: true }) };
  };
  let opened: ReturnType<typeof open> | undefined;
  return () => {
    opened ??= open();
    return opened;
  };
}

function exchange(request: ClientRequest, { headers, body }: SendInit): Promise<Answer> {
  return new Promise((resolve, reject) => {
    headers.forEach((value, name) => void request.setHeader(name, value));
    // A kept connection is already there; a new one may still look up its address.
    request.on("socket", (socket) => void socket.unref());
    request.on("error", reject);
    request.on("response", (response) => resolve(toAnswer(response)));
    request.end(body);
  });
}

function toAnswer(response: IncomingMessage): Answer {
  const { statusCode: status = 0, statusMessage: statusText = "", headers } = response;
  const get = (name: string) => {
    const value = headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  };
  const text = async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    if (!response.complete) throw new Error("the answer was cut");
    return Buffer.concat(chunks).toString();
  };
  return { ok: status >= 200 && status < 300, status, statusText, headers: { get }, text };
}
