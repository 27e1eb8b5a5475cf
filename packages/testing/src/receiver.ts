import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
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
