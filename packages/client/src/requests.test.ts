import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import { reportRequests } from "./requests.js";

type Batch = { domain?: string; requests: Record<string, unknown>[] };

let batches: Batch[];
/** What the collector answers next; 202 without one. */
let answers: [status: number, body: object][];

const collector = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  expect([request.method, request.url, request.headers.authorization]).toEqual(["POST", "/api/requests", "Bearer k"]);
  batches.push(JSON.parse(text));
  const [status, body] = answers.shift() ?? [202, {}];
  response.writeHead(status).end(JSON.stringify(body));
});
const listen = async (server: typeof collector) => {
  await once(server.listen(0), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
let url: string;
beforeAll(async () => {
  url = await listen(collector);
});
afterAll(() => void collector.close());
beforeEach(() => {
  batches = [];
  answers = [];
});

it("reports what a server answered, after its answer", async () => {
  const machines = reportRequests({ url, key: "k", domain: "example.com" });
  const site = createServer((request, response) =>
    machines.express(request, response, () => response.writeHead(404).end("none")),
  );
  const origin = await listen(site);
  const headers = { "User-Agent": "GPTBot/1.2", Referer: "https://chatgpt.com/", Host: "shop.example" };
  const [response] = await once(get(`${origin}/a?b=1`, { headers }), "response");
  await once(response.resume(), "end");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(batches).toEqual([]);
  await machines.flush();
  site.close();
  expect(batches).toEqual([
    {
      domain: "example.com",
      requests: [
        {
          url: "http://shop.example/a?b=1",
          status: 404,
          method: "GET",
          ip: expect.stringMatching(/127\.0\.0\.1$/),
          user_agent: "GPTBot/1.2",
          referrer: "https://chatgpt.com/",
          at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
        },
      ],
    },
  ]);
});

const fetched = (path: string, headers: Record<string, string> = {}) =>
  new Request(`https://x.example${path}`, { headers });

it("reports requests of Next.js at once, with the last address that a proxy names", async () => {
  const machines = reportRequests({ url, key: "k" });
  const waits: Promise<unknown>[] = [];
  machines.next(fetched("/p", { "X-Forwarded-For": "10.9.8.7, 192.0.2.7", "User-Agent": "ClaudeBot" }), {
    waitUntil: (work) => void waits.push(work),
  });
  await Promise.all(waits);
  expect(batches[0]?.requests).toMatchObject([{ url: "https://x.example/p", status: null, ip: "192.0.2.7" }]);
});

it("tells an agent's signature, unless a header is missing or longer than the collector takes", async () => {
  const machines = reportRequests({ url, key: "k" });
  const signed = {
    Signature: "s=:AA==:",
    "Signature-Input": 's=("@authority")',
    "Signature-Agent": '"https://a.example"',
  };
  machines.next(fetched("/signed", signed));
  machines.next(fetched("/half", { Signature: signed.Signature }));
  machines.next(fetched("/long", { ...signed, Signature: "x".repeat(1_001) }));
  await machines.flush();
  const [first, ...others] = batches[0]?.requests ?? [];
  expect(first).toMatchObject({
    signature: signed.Signature,
    signature_input: signed["Signature-Input"],
    signature_agent: signed["Signature-Agent"],
  });
  expect(others.map((each) => "signature" in each)).toEqual([false, false]);
});

it("repeats a batch without the requests that the collector names, and after a refusal that passes", async () => {
  const losses: number[] = [];
  const machines = reportRequests({ url, key: "k", onLoss: (lost) => void losses.push(lost) });
  answers = [
    [503, { error: "Service temporarily unavailable" }],
    [400, { error: "Validation failed", fields: { "requests.1.ip": "Must be an address" } }],
  ];
  for (const path of ["/0", "/1", "/2"]) machines.next(fetched(path));
  await machines.flush();
  const paths = batches.map(({ requests }) => requests.map((each) => new URL(String(each["url"])).pathname).join());
  expect(paths).toEqual(["/0,/1,/2", "/0,/1,/2", "/0,/2"]);
  expect(losses).toEqual([1]);
});

it("keeps a bounded queue in batches, and never throws", async () => {
  const losses: number[] = [];
  const machines = reportRequests({ url, key: "k", onLoss: (lost) => void losses.push(lost) });
  for (let n = 0; n < 6_000; n++) machines.next(fetched("/"));
  machines.next({ url: "nonsense", method: "GET", headers: { get: () => null } });
  let isPassed = false;
  machines.express({ headers: {} }, { statusCode: 200, once: () => undefined }, () => {
    isPassed = true;
  });
  expect(isPassed).toBe(true);
  await machines.flush();
  expect(batches.map(({ requests }) => requests.length)).toEqual(Array.from({ length: 10 }, () => 500));
  expect(losses).toEqual([1]);
});
