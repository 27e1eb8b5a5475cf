import { setImmediate } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { AppError } from "@waymark/errors";
import type { Request as HttpRequest } from "express";
import { z } from "zod";
import { type Answer, type Route, route, validationErrorSchema } from "../http/index.js";
import { callTool, describeTool, type McpTool, type ToolCall } from "./tool.js";

interface McpRouteOptions {
  name: string;
  title: string;
  instructions: string;
  tools: readonly McpTool[];
  /** Counts a call and may refuse it, where the route's guards do not. */
  beforeCall?(call: ToolCall): Promise<void>;
  now(): Date;
}

const message = z.looseObject({ jsonrpc: z.literal("2.0"), method: z.string().optional(), id: z.unknown() });

const answers = {
  200: {
    description: "The answer of the message. Errors of a tool are results with `isError`",
    schema: message,
    example: { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "{…}" }] } },
  },
  202: { description: "The notification is taken", schema: z.string(), contentType: "text/plain" },
  400: {
    description: "The body is no message, or several; or it cannot be read, or the request has a query parameter",
    schema: z.union([message, validationErrorSchema()]),
  },
} as const;

/**
 * `POST /mcp`: reading routes as tools of the Model Context Protocol over Streamable HTTP, without sessions. Every message
 * carries a key, so a foreign page that a browser leads here gets nothing, whatever its `Origin`.
 */
export function mcpRoute({ name, title, instructions, tools, beforeCall, now }: McpRouteOptions): Route {
  const listed = tools.map(describeTool);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));

  async function answerCall(toolName: string, given: Record<string, unknown>, call: ToolCall): Promise<CallToolResult> {
    const tool = byName.get(toolName);
    if (!tool) throw new McpError(ErrorCode.InvalidParams, `Unknown tool; there are: ${[...byName.keys()].join(", ")}`);
    try {
      await beforeCall?.(call);
      const text = await callTool(tool, given, { ...call, now: now() });
      await setImmediate();
      return { content: [{ type: "text", text }], structuredContent: JSON.parse(text) };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { isError: true, content: [{ type: "text", text: JSON.stringify(error.body) }] };
    }
  }

  return route({
    method: "post",
    path: "/mcp",
    basePath: "",
    operationId: "mcp",
    summary: "Tools for agents, by the Model Context Protocol",
    description: `Streamable HTTP without sessions: one JSON-RPC message a request, answered as JSON. The tools read only: ${tools.map((tool) => `\`${tool.name}\``).join(", ")}. Their arguments are the parameters of the operations. An answer has at most \`max_chars\` characters, 20,0 by default.`,
    body: {
      "application/json": { schema: message, example: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
    },
    answers,
    async handle({ body, request, response }) {
      const parsed = parse(body.bytes);
      if (parsed === undefined) return refusal(ErrorCode.ParseError, "Parse error: the body is no JSON");
      if (Array.isArray(parsed))
        return refusal(ErrorCode.InvalidRequest, "Invalid request: send one message a request");
      let fault: unknown;
      const server = new Server({ name, title, version: "1" }, { capabilities: { tools: {} }, instructions });
      server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
      server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
        return answerCall(params.name, params.arguments ?? {}, { request, response }).catch((error: unknown) => {
          if (!(error instanceof McpError)) fault = error;
          throw error;
        });
      });
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await server.connect(transport);
      try {
        const answer = await transport.handleRequest(asRequest(request), { parsedBody: parsed });
        const text = await answer.text();
        // The API's own errors answer it, and a log has the cause.
        if (fault !== undefined) throw fault;
        return {
          status: answer.status,
          contentType: answer.headers.get("content-type") ?? "application/json",
          body: text,
        };
      } finally {
        await server.close();
      }
    },
  });
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

function refusal(code: ErrorCode, text: string): Answer {
  return { status: 400, body: { jsonrpc: "2.0", error: { code, message: text }, id: null } };
}

/** Every answer is JSON, so clients need not accept anything. */
function asRequest(request: HttpRequest): Request {
  const version = request.headers["mcp-protocol-version"];
  const headers = new Headers({ "Content-Type": "application/json", Accept: "application/json, text/event-stream" });
  if (typeof version === "string") headers.set("MCP-Protocol-Version", version);
  return new Request("http://localhost/mcp", { method: "POST", headers });
}
