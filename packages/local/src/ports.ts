import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

export function isPortFree(port: number): Promise<boolean> {
  return listenOnce(port).then(
    () => true,
    () => false,
  );
}

/** Below the ports of outgoing connections, which take one at any moment: Linux begins at 32,768. */
export async function anyFreePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(10_000, 32_768);
    if (await isPortFree(port)) return port;
  }
  throw new Error("No port is free");
}

async function listenOnce(port: number): Promise<void> {
  const server = createServer().listen({ port, host: "127.0.0.1", exclusive: true });
  await once(server, "listening");
  server.close();
  await once(server, "close");
}
