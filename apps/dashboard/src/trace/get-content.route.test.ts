import { createServer, get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type SignedIn, useDashboard } from "../dashboard.fixture.js";
import { addTrace } from "./trace.fixture.js";

const dashboard = useDashboard();
let server: Server;

beforeAll(async () => {
  server = createServer(dashboard.app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Somebody with a span whose input is larger than the buffers of a connection. */
async function setUp() {
  const accountId = await dashboard.makeAccount();
  const input = JSON.stringify("x".repeat(16_000_000));
  const { id, spanIds } = await addTrace(dashboard.pool, accountId, { spans: [{ name: "step", from: 0, input }] });
  return { viewer: await dashboard.signIn(accountId), path: `/traces/${id}/spans/${spanIds[0]}/input` };
}

/** Begins a download and takes nothing of its body. */
function begin({ viewer, path }: { viewer: SignedIn; path: string }) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/dashboard/api${path}`;
  return new Promise<{ status: number | undefined; stop(): void }>((resolve) => {
    get(url, { headers: { cookie: viewer.cookie } }, (response) => {
      resolve({ status: response.statusCode, stop: () => response.destroy() });
    });
  });
}

it("answers two downloads of an account at once, four of all, and another one after one has ended", async () => {
  const [one, two, three] = [await setUp(), await setUp(), await setUp()];
  const begun: Awaited<ReturnType<typeof begin>>[] = [];
  for (const each of [one, one, two, two]) begun.push(await begin(each));
  expect(begun.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const { body, headers } = await one.viewer.get(one.path).expect(429);
  expect(body.reason).toBe("At most 2 downloads of contents may be under way of one account");
  expect(headers["retry-after"]).toBe("1");
  const busy = await three.viewer.get(three.path).expect(503);
  expect(busy.body.reason).toBe("At most 4 downloads of contents may be under way of all accounts together");
  begun[0]?.stop();
  let next = await begin(three);
  while (next.status === 503) next = await begin(three);
  expect(next.status).toBe(200);
  for (const { stop } of [...begun, next]) stop();
});

it("gives the place of a download without contents back", async () => {
  const { viewer, path } = await setUp();
  for (let n = 0; n < 3; n++) await viewer.get(path.replace("/input", "/output")).expect(404);
});
