import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Undo } from "./undo.js";

/** How a receiver treats requests; `take` accepts one and breaks the connection without an answer. */
export type Treatment = "accept" | "take" | "hang" | 429 | 500;

/** A mail or a webhook as it came: for whom, and its whole text. */
export interface Message {
  readonly to: string;
  readonly text: string;
}

/** A receiver of mails (Resend's API) and webhooks (other paths) that honours ids: a repeated one is accepted once. */
export interface Receiver {
  readonly url: string;
  treatment: Treatment;
  /** How often each id was accepted as new; more than once only without an id, as the empty text. */
  readonly accepted: ReadonlyMap<string, number>;
  readonly messages: readonly Message[];
}

export async function startReceiver(undo: Undo): Promise<Receiver> {
  const accepted = new Map<string, number>();
  const messages: Message[] = [];
  const bodies = new Map<string, string>();
  const accept = (id: string, body: string): { status: number; name?: string } => {
    if (id !== "" && bodies.has(id)) {
      return bodies.get(id) === body ? { status: 200 } : { status: 409, name: "invalid_idempotent_request" };
    }
    accepted.set(id, (accepted.get(id) ?? 0) + 1);
    bodies.set(id, body);
    return { status: 200 };
  };
  const treat = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const { url = "", headers } = request;
    const isMail = url === "/emails";
    const to = isMail ? (/"to":\[?"([^"]*)"/.exec(body)?.[1] ?? "") : url;
    messages.push({ to, text: `${JSON.stringify(headers)}\n${body}` });
    const { treatment } = receiver;
    if (treatment === "hang") return;
    if (typeof treatment === "number") {
      if (treatment === 429) response.setHeader("Retry-After", "1");
      return answer(response, treatment, { name: "application_error", message: "a fault" });
    }
    const id = headers[isMail ? "idempotency-key" : "webhook-id"];
    const { status, name } = accept(typeof id === "string" ? id : "", isMail ? body : "");
    if (treatment === "take") return void request.socket.destroy();
    answer(response, status, name ? { name, message: name } : { id: "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794" });
  };
  const server = createServer((request, response) => {
    treat(request, response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  undo(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const receiver: Receiver = { url, treatment: "accept", accepted, messages };
  return receiver;
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
