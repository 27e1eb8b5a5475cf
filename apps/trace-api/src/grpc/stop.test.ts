import grpc from "@grpc/grpc-js";
import { afterAll, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { freePort, useDatabase } from "@waymark/testing";
import { type ServiceProcess, startService } from "../service.fixture.js";
import { frame, keyOf, openRaw } from "./grpc.fixture.js";

const database = useDatabase();
let service: ServiceProcess | undefined;
afterAll(() => service?.end("SIGKILL"));

it.each(["1", "2"])(
  "connections are told to go after SIGTERM, and calls in hand end well, with processes: %s",
  async (processes) => {
    const port = await freePort();
    const account = { email: `stop-${processes}@example.com`, plan: "pro" } as const;
    const { id: accountId } = await createAccount(createPrisma(database.pool), account);
    const key = await issueKey(database.pool, { accountId, service: "trace", name: "test" });
    const env = { OTLP_GRPC_PORT: String(port), WEB_CONCURRENCY: processes };
    service = await startService({ databaseUrl: database.url, env });
    const connections = Array.from({ length: 6 }, () => openRaw(port));
    const held = connections.map(({ begin }) => begin(keyOf(key)));
    for (const { stream } of held) stream.write(frame(Buffer.alloc(0)));
    // An answer to a later call of each connection: the service knows the held one.
    for (const { begin } of connections) {
      const { stream, status } = begin({});
      stream.end(frame(Buffer.alloc(0)));
      expect(await status).toBe(String(grpc.status.UNAUTHENTICATED));
    }
    const told = connections.map(({ session }) => new Promise((resolve) => session.once("goaway", resolve)));
    const ended = service.end("SIGTERM");
    await Promise.all(told);
    for (const { stream } of held) stream.end();
    expect(await Promise.all(held.map(({ status }) => status))).toEqual(held.map(() => String(grpc.status.OK)));
    expect(await ended).toBe(0);
  },
);
