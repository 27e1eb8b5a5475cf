import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A mail or a webhook as it came: for whom, and its whole text. */
export interface Message {
  readonly to: string;
  readonly text: string;
}

export interface MessageReceiver {
  readonly url: string;
  readonly messages: readonly Message[];
  close(): Promise<void>;
}

/** Takes mails as Resend does, and webhooks below `/hook/MARK`, and keeps them. */
export async function startMessageReceiver(): Promise<MessageReceiver> {
  const messages: Message[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => "");
    const isMail = request.url === "/emails";
    const to = isMail ? String(JSON.parse(body).to) : (request.url ?? "");
    messages.push({ to, text: `${JSON.stringify(request.headers)}\n${body}` });
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end('{"id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
