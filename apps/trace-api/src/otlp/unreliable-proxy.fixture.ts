import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import express from "express";

/** What goes wrong with a request. */
export interface Fault {
  /** What the client is answered, with `Retry-After: 1`. */
  readonly status: number;
  /** Whether the service gets the request all the same, so that only its answer is lost. */
  readonly isPassedOn: boolean;
}

/** A proxy before the service that fails now and then, and notes what went through. */
export interface UnreliableProxy {
  readonly url: string;
  /** Requests in order: how their bodies were compressed, and the status that the client got. */
  readonly seen: { encoding: string | undefined; status: number }[];
  stop(): void;
}

/**
 * Starts a proxy before a service.
 * @param faults what happens to the first requests, in order; later ones pass
 */
export async function startUnreliableProxy(target: string, faults: readonly Fault[] = []): Promise<UnreliableProxy> {
  const seen: UnreliableProxy["seen"] = [];
  const left = [...faults];
  const app = express();
  app.use(async (req, res) => {
    const fault = left.shift();
    const passed = fault?.isPassedOn === false ? undefined : await pass(target, req);
    const status = fault?.status ?? passed?.status ?? 502;
    seen.push({ encoding: req.get("content-encoding"), status });
    if (fault) res.set("Retry-After", "1").status(status).end();
    else
      res
        .type(passed?.type ?? "")
        .status(status)
        .send(passed?.body);
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, seen, stop: () => void server.close().closeAllConnections() };
}

async function pass(target: string, req: express.Request) {
  const headers = ["authorization", "content-type", "content-encoding"].flatMap((name) => {
    const value = req.get(name);
    return value ? [[name, value] as [string, string]] : [];
  });
  const answer = await fetch(`${target}${req.originalUrl}`, { method: req.method, headers, body: await buffer(req) });
  return {
    status: answer.status,
    type: answer.headers.get("content-type"),
    body: Buffer.from(await answer.arrayBuffer()),
  };
}
