import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A mail at the stub of Resend. */
interface SentMail {
  headers: IncomingHttpHeaders;
  body: { from: string; to: string; subject: string; text: string; html: string };
}

interface StubAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  delayMs?: number;
}

/** A server that speaks Resend's `POST /emails`, answering what the test says and 200 otherwise. */
export async function startResendStub() {
  const mails: SentMail[] = [];
  const answers: StubAnswer[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    mails.push({ headers: request.headers, body: JSON.parse(text) });
    const answer = request.url === "/emails" ? answers.shift() : { status: 404, body: {} };
    await new Promise((resolve) => setTimeout(resolve, answer?.delayMs ?? 0));
    response.writeHead(answer?.status ?? 200, { "Content-Type": "application/json", ...answer?.headers });
    const body = answer?.body ?? { id: "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794" };
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    mails,
    /** Answers to come, in order. */
    answers,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
