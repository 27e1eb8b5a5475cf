import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { lintOpenApi } from "@waymark/testing";
import request from "supertest";
import { useApp } from "../app.fixture.js";

const run = promisify(execFile);
const { resolve } = createRequire(import.meta.url);

/** Gives `openapi-typescript` a compiler with an interface in JavaScript. */
const hook = `export const resolve = (name, context, next) => name === "typescript"
  ? { url: ${JSON.stringify(pathToFileURL(resolve("typescript-5")).href)}, shortCircuit: true } : next(name, context);`;
const dataUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
const withHook = dataUrl(`import { register } from "node:module"; register(${JSON.stringify(dataUrl(hook))});`);

const program = `import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const [baseUrl, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${key}\` } });
const metadata = { order: 1042, nested: { list: [1, "two", null] } };
const made = await client.POST("/api/v1/traces", {
  body: { agent_id: "generated", name: "run", status: "running", started_at: "2026-06-01T12:00:00Z", metadata },
});
if (!made.data) throw new Error(JSON.stringify(made.error));
const { data } = await client.GET("/api/v1/traces/{trace_id}", { params: { path: { trace_id: made.data.trace_id } } });
console.log(JSON.stringify(data?.metadata));
// @ts-expect-error a field of a wrong type
export const wrong = () => client.POST("/api/v1/traces", { body: { agent_id: 1 } });
`;

describe("the API's document", () => {
  const test = useApp();
  const server = createServer((incoming, outgoing) => test.app(incoming, outgoing));
  let folder = "";
  beforeAll(async () => {
    // Within the app: the program's imports are looked for there.
    folder = await mkdtemp(fileURLToPath(new URL("../../node_modules/.generated-", import.meta.url)));
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  });
  afterAll(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  it("passes Redocly's rules without a warning, and names its server, tags and security", async () => {
    const { body } = await request(test.app).get("/openapi.json").set("Host", "traces.waymark.test").expect(200);
    expect(await lintOpenApi(body)).toEqual([]);
    expect(body.servers).toEqual([{ url: "http://traces.waymark.test" }]);
    const operations = Object.values<Record<string, object>>(body.paths).flatMap((path) => Object.values(path));
    for (const operation of operations)
      expect(operation).toMatchObject({ tags: [expect.any(String)], security: expect.any(Array) });
    expect((await lintOpenApi({ ...body, servers: [] })).length).toBeGreaterThan(0);
  });

  it("makes a client by openapi-typescript that compiles and sends metadata", async () => {
    const { body } = await request(test.app).get("/openapi.json");
    const at = (name: string) => `${folder}/${name}`;
    await writeFile(at("openapi.json"), JSON.stringify(body));
    await writeFile(at("client.ts"), program);
    await writeFile(at("package.json"), '{"type": "module"}');
    const generator = fileURLToPath(new URL("../bin/cli.js", pathToFileURL(resolve("openapi-typescript"))));
    await run(process.execPath, ["--import", withHook, generator, at("openapi.json"), "-o", at("api.ts")]);
    const compiler = fileURLToPath(new URL("tsc.js", pathToFileURL(resolve("typescript-5"))));
    const options = ["--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "--skipLibCheck"];
    await run(process.execPath, [compiler, ...options, at("client.ts")]).catch(({ stdout }) => {
      throw new Error(stdout);
    });
    const { key } = await test.makeAccount("pro");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { stdout } = await run(process.execPath, [at("client.js"), url, key]);
    expect(JSON.parse(stdout)).toEqual({ order: 1042, nested: { list: [1, "two", null] } });
  }, 120_000);
});
