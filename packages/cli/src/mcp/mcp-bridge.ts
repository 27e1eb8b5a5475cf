import type { Readable, Writable } from "node:stream";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  InitializeResultSchema,
  LATEST_PROTOCOL_VERSION,
  ListToolsRequestSchema,
  ListToolsResultSchema,
  McpError,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";

import { parseObject } from "../context/json.js";
import { reasonOf } from "../context/service.js";

/** An API of Waymark with tools at `/mcp`. */
export interface ToolService {
  name: string;
  url: string;
  key: string;
}

interface BridgeOptions {
  services: readonly ToolService[];
  stdin: Readable;
  stdout: Writable;
  version: string;
  signal: AbortSignal;
  note(text: string): void;
}

/** Longer than any read of the services. */
const timeoutMs = 60_000;
const instructionsMs = 2_000;

/** Passes tools of the services on to a client on standard input and output, until that ends or the signal aborts. */
export async function bridgeTools({ services, stdin, stdout, version, signal, note }: BridgeOptions): Promise<void> {
  const owners = new Map<string, ToolService>();

  async function listTools(): Promise<Tool[]> {
    const lists = await Promise.allSettled(
      services.map(async (service) => {
        const { tools } = ListToolsResultSchema.parse(await send(service, "tools/list", {}, signal));
        for (const { name } of tools) owners.set(name, service);
        return tools;
      }),
    );
    const failed = lists.filter((list) => list.status === "rejected");
    for (const { reason } of failed) note(reasonOf(reason));
    // One of two services may be down; without any the client learns why.
    if (failed.length === lists.length) throw failed[0]?.reason;
    return lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
  }

  async function callTool(params: { name: string; arguments?: unknown }): Promise<CallToolResult> {
    if (!owners.has(params.name)) await listTools();
    const owner = owners.get(params.name);
    if (!owner) throw new McpError(ErrorCode.InvalidParams, "Unknown tool");
    try {
      return CallToolResultSchema.parse(await send(owner, "tools/call", params, signal));
    } catch (error) {
      return { isError: true, content: [{ type: "text", text: reasonOf(error) }] };
    }
  }

  const instructions = await readInstructions(services, signal);
  const server = new Server(
    { name: "waymark", title: "Waymark", version },
    { capabilities: { tools: {} }, instructions },
  );
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: await listTools() }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => callTool(params));
  const ended = new Promise<void>((resolve) => {
    stdin.once("end", resolve).once("close", resolve);
    stdout.once("error", () => resolve()).once("close", resolve);
    signal.addEventListener("abort", () => resolve());
  });
  await server.connect(new StdioServerTransport(stdin, stdout));
  await ended;
  await server.close();
}

/** Those of the services that answer soon: a client waits for them. */
async function readInstructions(services: readonly ToolService[], signal: AbortSignal): Promise<string> {
  const clientInfo = { name: "waymark", version: "1" };
  const params = { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities: {}, clientInfo };
  const soon = AbortSignal.any([signal, AbortSignal.timeout(instructionsMs)]);
  const answers = await Promise.allSettled(services.map((service) => send(service, "initialize", params, soon)));
  const texts = answers.flatMap((answer) =>
    answer.status === "fulfilled" ? (InitializeResultSchema.safeParse(answer.value).data?.instructions ?? []) : [],
  );
  return texts.join("\n\n");
}

/** Sends a message to a service. Its tools have no sessions, so one message is enough. */
async function send(service: ToolService, method: string, params: object, signal: AbortSignal): Promise<unknown> {
  const { name, url, key } = service;
  const answer = await fetch(`${url.replace(/\/+$/, "")}/mcp`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }).catch((error: unknown) => {
    throw new Error(`The ${name} cannot be reached: ${reasonOf(error)}.`, { cause: error });
  });
  const body = parseObject<Message>(await answer.text());
  if (body?.error !== undefined) {
    const { error } = body;
    if (typeof error === "object" && error !== null) throw new McpError(Number(error.code), String(error.message));
    throw new Error(`The ${name} answered ${answer.status}: ${String(error)}.`);
  }
  if (!answer.ok || body === undefined) throw new Error(`The ${name} answered ${answer.status}, and no message.`);
  return body.result;
}

interface Message {
  error?: string | { code?: unknown; message?: unknown };
  result?: unknown;
}
