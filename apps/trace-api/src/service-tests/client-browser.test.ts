import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { chromiumFlags, describeWithChromium } from "@waymark/testing";
import { type Browser, chromium } from "playwright-core";
import { type TestAccount, useApp } from "../app.fixture.js";

/** Browsers load the compiled files as they are, without a bundler. */
const clientFolder = join(dirname(createRequire(import.meta.url).resolve("@waymark/client")), "../dist");

const test = useApp();

describeWithChromium("the client in a browser", (executablePath) => {
  let [api, site]: [Server?, Server?] = [];
  let browser: Browser;
  let account: TestAccount;
  const agent = new Agent({ keepAlive: true });
  const methods: string[] = [];

  beforeAll(async () => {
    api = test.app.listen(0, "127.0.0.1");
    site = createServer(serve).listen(0, "127.0.0.1");
    [browser, account] = await Promise.all([
      chromium.launch({ executablePath, args: chromiumFlags }),
      test.makeAccount("pro"),
      once(api, "listening"),
      once(site, "listening"),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    agent.destroy();
    for (const server of [api, site]) {
      server?.closeAllConnections();
      server?.close();
    }
  });

  const portOf = (server: Server | undefined) => {
    const address = server?.address();
    return typeof address === "object" && address ? address.port : 0;
  };

  /** A site that shows an empty page, has the client's files, and passes on requests below /waymark with the key. */
  function serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { url = "", method = "" } = incoming;
    if (url.startsWith("/client/")) {
      outgoing.writeHead(200, { "Content-Type": "text/javascript" });
      outgoing.end(readFileSync(join(clientFolder, url.slice("/client/".length))));
    } else if (url.startsWith("/waymark/")) {
      methods.push(method);
      const headers = { ...incoming.headers, authorization: `Bearer ${account.key}` };
      const path = url.slice("/waymark".length);
      const upstream = request({ host: "127.0.0.1", port: portOf(api), agent, method, path, headers });
      incoming.pipe(upstream).once("response", (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      });
    } else {
      outgoing.writeHead(200, { "Content-Type": "text/html" });
      outgoing.end("<!doctype html><title>page</title>");
    }
  }

  it("records a tree by handles, through a server that adds the key, and reads it back", async () => {
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => problems.push(message.text()));
    await page.goto(`http://127.0.0.1:${portOf(site)}/`);
    const result = await page.evaluate(`(async () => {
      const { createWaymark } = await import("/client/index.js");
      const waymark = createWaymark({ key: null, url: location.origin + "/waymark" });
      const trace = waymark.startTrace({ agent_id: "page", name: "In a browser" });
      const answer = await trace.run("outer", async (outer) => {
        await outer.run("fails", () => { throw new Error("no") }, { input: { a: "ä" } }).catch(() => {});
        return outer.run("inner", () => 42);
      });
      await trace.end("success");
      const isStored = await waymark.flush();
      const id = await trace.id;
      const read = await waymark.api.getTrace(id);
      const listed = await waymark.api.listTraces({ name: "browser" });
      await waymark.shutdown();
      return { answer, isStored, id, spans: read.spans.length, listed: listed.traces.length };
    })()`);
    const { id, ...rest } = result as { id: string };
    expect(problems).toEqual([]);
    expect(rest).toEqual({ answer: 42, isStored: true, spans: 3, listed: 1 });
    expect(methods).toEqual(["POST", "POST", "PATCH", "GET", "GET"]);
    const { body } = await account.get(`/api/v1/traces/${id}`);
    const [outer] = body.spans;
    expect(body.spans).toMatchObject([
      { name: "outer", parent_span_id: null, output: 42 },
      { name: "fails", parent_span_id: outer.id, status: "error", error: "Error: no", input: { a: "ä" } },
      { name: "inner", parent_span_id: outer.id, output: 42 },
    ]);
  });
});
