import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

export function isPortFree(port: number): Promise<boolean> {
  return listenOnce(port).then(
    () => true,
    () => false,
  );
}

export function anyFreePort(): Promise<number> {
  return listenOnce(0);
}

async function listenOnce(port: number): Promise<number> {
  const server = createServer().listen({ port, host: "127.0.0.1", exclusive: true });
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return address.port;
}
