import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** How a receiver treats a request; `take` accepts it and breaks the connection without an answer. */
export type Treatment = "accept" | "take" | "hang" | 429 | 500;

/** A receiver of mails (Resend's API) and webhooks that honours ids: a repeated one is accepted once. */
export interface Receiver {
  readonly mailUrl: string;
  readonly webhookUrl: string;
  mails: Treatment;
  webhooks: Treatment;
  /** How often each id was accepted as new; more than once only without an id, as the empty text. */
  readonly accepted: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const accepted = new Map<string, number>();
  const hanging = new Set<ServerResponse>();
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
    const isMail = request.url === "/emails";
    const treatment = isMail ? receiver.mails : receiver.webhooks;
    const id = request.headers[isMail ? "idempotency-key" : "webhook-id"];
    if (treatment === "hang") return void hanging.add(response);
    if (typeof treatment === "number") {
      const headers = treatment === 429 ? { "Retry-After": "1" } : {};
      return answer(response, treatment, { name: "application_error", message: "a fault" }, headers);
    }
    const { status, name } = accept(typeof id === "string" ? id : "", isMail ? body : "");
    if (treatment === "take") return void request.socket.destroy();
    answer(response, status, name ? { name, message: name } : { id: "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794" });
  };
  const server = createServer((request, response) => {
    treat(request, response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const receiver: Receiver = {
    mailUrl: url,
    webhookUrl: `${url}/hook`,
    mails: "accept",
    webhooks: "accept",
    accepted,
    close: async () => {
      for (const response of hanging) response.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receiver;
}

function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}
