import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

interface Received {
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** How a receiver answers a request; without an answer it hangs. */
export type Answer = RequestListener | number;

/** A server that notes what it gets, and answers as a test says: the first answers in order, then the last one. */
export async function startReceiver(...answers: Answer[]) {
  const received: Received[] = [];
  const server: Server = createServer(async (request, response) => {
    const body = await text(request);
    const answer = answers[Math.min(received.length, answers.length - 1)] ?? 200;
    received.push({ path: request.url ?? "", headers: request.headers, body });
    if (typeof answer === "number") response.writeHead(answer).end(`answer ${answer}`);
    else answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    received,
    port,
    url: `http://127.0.0.1:${port}/hook`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

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
