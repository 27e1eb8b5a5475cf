import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { assert, property, string } from "fast-check";
import { signatureHeaders } from "web-bot-auth";
import { signerFromJWK } from "web-bot-auth/crypto";
import { createSignatureCheck } from "./signature-check.js";
import { type ClaimedRequest, readSignedRequest } from "./signed-request.js";

/** The test key of RFC 9421, B.1.4. */
const x = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";
const key = { kty: "OKP", crv: "Ed25519", x };
const privateKey = { ...key, d: "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU" };
const other = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };

const seconds = 1_795_000_000;
const at = new Date(seconds * 1_000).toISOString();
const chatGpt = '"https://chatgpt.com"';
const origin = "https://chatgpt.com";

interface Signing {
  readonly url?: string;
  readonly agent?: string;
  readonly components?: Parameters<typeof signatureHeaders>[2]["components"];
  readonly from?: number;
  readonly to?: number;
}

/** A request that Cloudflare's library signs. */
async function sign({
  url = "https://shop.example/a?b=1",
  agent = chatGpt,
  components,
  from = 0,
  to = 60,
}: Signing = {}) {
  const signer = await signerFromJWK(privateKey);
  const signed = await signatureHeaders({ method: "GET", url, headers: { "Signature-Agent": agent } }, signer, {
    created: new Date((seconds + from) * 1_000),
    expires: new Date((seconds + to) * 1_000),
    ...(components && { components }),
  });
  const headers = { signature: signed.Signature, input: signed["Signature-Input"], agent };
  return { url: new URL(url), method: "GET", userAgent: "Mozilla/5.0", at, signed: headers } satisfies ClaimedRequest;
}

let answer: RequestListener;
let asked: (string | undefined)[];
const server = createServer((request, response) => {
  asked.push(request.url);
  answer(request, response);
});
let base: string;
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
  answer = (_request, response) => response.end(JSON.stringify({ keys: [{ kty: "RSA" }, other, key], purpose: "ai" }));
});

const createCheck = () => createSignatureCheck((url, options) => fetch(url.replace(origin, base), options));

async function isRight(request: ClaimedRequest, check = createCheck()): Promise<boolean> {
  const read = readSignedRequest(request);
  return read !== undefined && (await check([read], 60_000)).has(read);
}

describe("a signature", () => {
  it("is right as Cloudflare's library and ChatGPT's agent make it", async () => {
    expect(await isRight(await sign())).toBe(true);
    const components = ["@authority", "@method", "@path", "@query", "@target-uri", "@scheme", "signature-agent"];
    expect(await isRight(await sign({ components }))).toBe(true);
    expect(await isRight(await sign({ url: "https://shop.example:8443/?c", components }))).toBe(true);
    expect(asked[0]).toBe("/.well-known/http-message-signatures-directory");
  });

  it("is right with the agent in a dictionary, as Google's has it", async () => {
    const request = await sign({ components: ["@authority", "signature-agent"] });
    // The library signs the whole header: the same text as the member's, under the name of the member.
    const named = await sign({
      components: ["@authority", { name: "signature-agent", parameters: new Map([["key", "g"]]) }],
    });
    expect(await isRight({ ...named, signed: { ...named.signed, agent: `g=${chatGpt}` } })).toBe(true);
    expect(await isRight({ ...named, signed: { ...named.signed, agent: `h=${chatGpt}` } })).toBe(false);
    expect(await isRight({ ...request, signed: { ...request.signed, agent: `g=${chatGpt}` } })).toBe(false);
  });

  it("is wrong for another host, path, method, agent or time", async () => {
    const request = await sign({ components: ["@authority", "@method", "@path", "signature-agent"] });
    expect(await isRight(request)).toBe(true);
    expect(await isRight({ ...request, url: new URL("https://evil.example/a?b=1") })).toBe(false);
    expect(await isRight({ ...request, url: new URL("https://shop.example/b?b=1") })).toBe(false);
    expect(await isRight({ ...request, method: "POST" })).toBe(false);
    expect(await isRight({ ...request, method: undefined })).toBe(false);
    const agent = '"https://chatgpt.com/x"';
    expect(await isRight({ ...request, signed: { ...request.signed, agent } })).toBe(false);
    const input = request.signed.input.replace(/created=\d+/, `created=${seconds - 1}`);
    expect(await isRight({ ...request, signed: { ...request.signed, input } })).toBe(false);
    const signature = request.signed.signature.replace(/:.{4}/, ":AAAA");
    expect(await isRight({ ...request, signed: { ...request.signed, signature } })).toBe(false);
  });

  it("counts for its time, a minute more, and a day at most", async () => {
    const hourLater = new Date((seconds + 3_600) * 1_000).toISOString();
    expect(readSignedRequest({ ...(await sign()), at: hourLater })).toBeUndefined();
    expect(readSignedRequest(await sign({ from: 60, to: 90 }))).toBeDefined();
    expect(readSignedRequest(await sign({ from: 61, to: 90 }))).toBeUndefined();
    expect(readSignedRequest(await sign({ from: -90, to: -60 }))).toBeDefined();
    expect(readSignedRequest(await sign({ from: -90, to: -61 }))).toBeUndefined();
    expect(readSignedRequest(await sign({ to: 86_400 }))).toBeDefined();
    expect(readSignedRequest(await sign({ to: 86_401 }))).toBeUndefined();
  });

  it("is none without the host or the agent, of another tag or algorithm, or over what nobody reports", async () => {
    const request = await sign();
    const withInput = (from: string, to: string) => {
      const input = request.signed.input.replace(from, to);
      expect(input).not.toBe(request.signed.input);
      return readSignedRequest({ ...request, signed: { ...request.signed, input } });
    };
    expect(withInput(' "signature-agent"', "")).toBeUndefined();
    expect(withInput('"@authority" ', "")).toBeUndefined();
    expect(readSignedRequest(await sign({ components: ["@authority", "accept", "signature-agent"] }))).toBeUndefined();
    expect(withInput('tag="web-bot-auth"', 'tag="else"')).toBeUndefined();
    expect(withInput('alg="ed25519"', 'alg="hmac-sha256"')).toBeUndefined();
    expect(withInput('"@authority"', '"@authority";req')).toBeUndefined();
    expect(readSignedRequest(await sign({ agent: '"http://chatgpt.com"' }))).toBeUndefined();
    expect(readSignedRequest({ ...request, signed: undefined })).toBeUndefined();
  });

  it("covers each component once", async () => {
    const components = ["@authority", "@path", "signature-agent"];
    expect(readSignedRequest(await sign({ components }))).toBeDefined();
    expect(readSignedRequest(await sign({ components: [...components, "@path"] }))).toBeUndefined();
  });

  it("is none in any other text", () => {
    assert(
      property(string({ unit: "binary" }), string(), string(), (signature, input, agent) => {
        const request = { url: new URL("https://shop.example/"), userAgent: null, at };
        const read = readSignedRequest({ ...request, signed: { signature, input, agent } });
        expect(read).toBeUndefined();
      }),
    );
  });
});

describe("a directory of keys", () => {
  it("is asked once for many signatures", async () => {
    const check = createCheck();
    const requests = await Promise.all(Array.from({ length: 50 }, (_, n) => sign({ to: 60 + n })));
    const read = requests.flatMap((request) => readSignedRequest(request) ?? []);
    expect((await check(read, 60_000)).size).toBe(50);
    expect((await check(read, 60_000)).size).toBe(50);
    expect(asked).toHaveLength(1);
  });

  it("has keys for a while alone", async () => {
    for (const [nbf, exp, expected] of [
      [seconds, seconds, true],
      [seconds + 1, seconds + 9, false],
      [seconds - 9, seconds - 1, false],
      [(seconds - 9) * 1_000, (seconds + 9) * 1_000, true],
    ] as const) {
      answer = (_request, response) => response.end(JSON.stringify({ keys: [{ ...key, nbf, exp }] }));
      expect(await isRight(await sign())).toBe(expected);
    }
  });

  it("gives no key where it fails, redirects or is too long, and is left alone for a minute", async () => {
    const body = (length: number) => JSON.stringify({ keys: [key], purpose: "x".repeat(length) });
    const failures: RequestListener[] = [
      (_request, response) => response.writeHead(500).end(body(0)),
      (_request, response) => response.writeHead(302, { Location: "/elsewhere" }).end(),
      (_request, response) => response.end(body(65_536)),
      (_request, response) => response.end("{}"),
      (request) => void request.socket.destroy(),
    ];
    for (const failure of failures) {
      answer = failure;
      asked = [];
      const check = createCheck();
      expect(await isRight(await sign(), check)).toBe(false);
      expect(await isRight(await sign(), check)).toBe(false);
      expect(asked).toHaveLength(1);
    }
  });

  it("does not hold a batch beyond the wait, and serves the next", async () => {
    let go = (): void => undefined;
    answer = (_request, response) => {
      go = () => response.end(JSON.stringify({ keys: [key] }));
    };
    const check = createCheck();
    const [read] = [readSignedRequest(await sign())].flatMap((found) => found ?? []);
    if (!read) throw new Error("It is signed");
    expect((await check([read], 0)).size).toBe(0);
    while (asked.length === 0) await new Promise((done) => setImmediate(done));
    go();
    expect((await check([read], 60_000)).size).toBe(1);
    expect(asked).toHaveLength(1);
  });
});
