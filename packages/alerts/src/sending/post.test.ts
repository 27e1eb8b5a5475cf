import { afterEach, describe, expect, it } from "@jest/globals";
import { networksVariable } from "@waymark/service/fields";
import { type Answer, startReceiver } from "@waymark/testing";
import { type PostOptions, post } from "./post.js";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function receive(...answers: Answer[]) {
  const receiver = await startReceiver(...answers);
  closers.push(receiver.close);
  return receiver;
}

const request = (url: string) => ({ url, headers: { "content-type": "application/json" }, body: '{"ü":1}' });
const allowed: PostOptions = { privateNetworks: networksVariable().parse("127.0.0.0/8,::1/128") };
const closed: PostOptions = { privateNetworks: networksVariable().parse(undefined) };

describe("post", () => {
  it("sends the body with its length, to the host of the URL at the resolved address", async () => {
    const { port, received } = await receive(200);
    const resolved: string[] = [];
    const resolve = async (host: string) => {
      resolved.push(host);
      return [{ address: "127.0.0.1", family: 4 }];
    };
    const answer = await post(request(`http://hooks.example:${port}/a?b`), { ...allowed, resolve });
    expect(answer).toEqual({ status: 200, retryAfter: undefined, text: "answer 200", isInside: true });
    expect(resolved).toEqual(["hooks.example"]);
    expect(received).toEqual([
      {
        path: "/a?b",
        body: '{"ü":1}',
        headers: expect.objectContaining({ host: `hooks.example:${port}`, "content-length": "8" }),
      },
    ]);
  });

  it.each(["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0", "localhost"])(
    "refuses %s, and sends nothing there",
    async (host) => {
      const { port, received } = await receive(200);
      const answer = await post(request(`http://${host}:${port}/`), closed);
      expect(answer).toMatchObject({
        status: null,
        isRefused: true,
        reason: expect.stringContaining("private network"),
      });
      expect(received).toEqual([]);
    },
  );

  it.each([
    [[{ address: "10.0.0.1", family: 4 }]],
    [
      [
        { address: "1.1.1.1", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ],
    ],
    [[{ address: "::ffff:10.0.0.1", family: 6 }]],
  ])("refuses a name that resolves to %j", async (addresses) => {
    const answer = await post(request("http://hooks.example/"), {
      ...closed,
      resolve: async () => addresses,
    });
    expect(answer).toMatchObject({ status: null, isRefused: true });
  });

  it("asks for the address once: a second answer of the name server changes nothing", async () => {
    const { port, received } = await receive(200);
    let asked = 0;
    const resolve = async () => [{ address: asked++ === 0 ? "127.0.0.1" : "10.0.0.1", family: 4 }];
    await post(request(`http://hooks.example:${port}/`), { ...allowed, resolve });
    expect([asked, received.length]).toEqual([1, 1]);
  });

  it("follows no redirect", async () => {
    const target = await receive(200);
    const { url } = await receive((_request, response) => response.writeHead(302, { location: target.url }).end());
    expect(await post(request(url), allowed)).toMatchObject({ status: 302 });
    expect(target.received).toEqual([]);
  });

  it("ends after its time, also where the name server hangs", async () => {
    const { url } = await receive(() => undefined);
    const late = { status: null, reason: "No answer in time", isRefused: false };
    expect(await post(request(url), { ...allowed, timeoutMs: 100 })).toEqual(late);
    const hanging = { ...allowed, timeoutMs: 100, resolve: () => new Promise<never>(() => undefined) };
    expect(await post(request("http://hooks.example/"), hanging)).toEqual(late);
  });

  it("waits for a slow answer", async () => {
    const { url } = await receive((_request, response) => void setTimeout(() => response.end("late"), 300));
    expect(await post(request(url), allowed)).toMatchObject({ status: 200, text: "late" });
  });

  it("says why there is no answer", async () => {
    const { url, close } = await receive((incoming) => incoming.socket.destroy());
    expect(await post(request(url), allowed)).toMatchObject({ status: null, reason: "No connection: ECONNRESET" });
    await close();
    expect(await post(request(url), allowed)).toMatchObject({ status: null, reason: "No connection: ECONNREFUSED" });
  });

  it("takes the status of an answer that breaks off", async () => {
    const { url } = await receive((incoming, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("begun", () => incoming.socket.destroy());
    });
    expect(await post(request(url), allowed)).toEqual({
      status: 200,
      retryAfter: undefined,
      text: "begun",
      isInside: true,
    });
  });

  it("reads 64 KiB of an endless answer", async () => {
    let written = 0;
    const { url } = await receive((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(10_000))) written += 10_000;
      };
      response.writeHead(500);
      response.on("drain", more);
      more();
    });
    const answer = await post(request(url), allowed);
    expect(answer.status === 500 && answer.text.length).toBe(65_536);
    expect(written).toBeGreaterThan(65_536);
  });
});
