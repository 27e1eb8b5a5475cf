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
import { setTimeout } from "node:timers/promises";

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
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const answer = answers[Math.min(received.length, answers.length - 1)] ?? 200;
    received.push({ path: request.url ?? "", headers: request.headers, body });
    if (typeof answer === "number") response.writeHead(answer).end(`answer ${answer}`);
    else answer(request, response);
  });
  const { port, close } = await open(server);
  return { received, port, url: `http://127.0.0.1:${port}/hook`, close };
}

async function open(server: Server) {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { port, close };
}

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
  /** Those to come, in order. */
  const answers: StubAnswer[] = [];
  const server = createServer(async (request, response) => {
    mails.push({ headers: request.headers, body: JSON.parse(await text(request)) });
    const answer = request.url === "/emails" ? answers.shift() : { status: 404, body: {} };
    await setTimeout(answer?.delayMs);
    response.writeHead(answer?.status ?? 200, { "Content-Type": "application/json", ...answer?.headers });
    const body = answer?.body ?? { id: "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794" };
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  const { port, close } = await open(server);
  return { mails, answers, baseUrl: `http://127.0.0.1:${port}`, close };
}
