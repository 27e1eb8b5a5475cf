import type { IncomingMessage, ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { type Listening, listen } from "./listen.js";
import type { Readiness } from "./readiness.js";

export interface OperationsServerOptions {
  /** Prometheus text. */
  metrics(): Promise<string>;
  ready(): Promise<Readiness>;
  host: string;
  port: number;
  portVariable: string;
  /** Whether the operator chose the port: a taken one is then an error; otherwise any free one will do. */
  isPortChosen: boolean;
}

/** The operators' server, on an unexposed port: `/metrics` (Prometheus text), `/health` and `/ready`. */
export function openOperationsServer(options: OperationsServerOptions): Promise<Listening> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? "/").split("?")[0];
    if (path === "/metrics") return send(response, 200, Registry.PROMETHEUS_CONTENT_TYPE, await options.metrics());
    if (path === "/health") return sendJson(response, 200, { status: "ok" });
    if (path === "/ready") {
      const { status, body } = await options.ready();
      return sendJson(response, status, body);
    }
    return sendJson(response, 404, { error: "Not found" });
  };
  return listen({
    handler: (request, response) => {
      answer(request, response).catch(() => sendJson(response, 500, { error: "Internal server error" }));
    },
    host: options.host,
    port: options.port,
    portVariable: options.portVariable,
    orAnyPort: !options.isPortChosen,
  });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, "application/json; charset=utf-8", JSON.stringify(body));
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { "Content-Type": type }).end(text);
}
