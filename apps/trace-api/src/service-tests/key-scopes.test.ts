import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { issueKey } from "@waymark/accounts";
import { type KeyScope, keyScopes, scopeProblem } from "@waymark/auth";
import type { OpenApiDocument } from "@waymark/service/http";
import { traceBody, useApp } from "../app.fixture.js";

const test = useApp();
let server: Server;
let url = "";
const keys: Partial<Record<KeyScope, string>> = {};

beforeAll(async () => {
  server = createServer(test.app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { id: accountId } = await test.makeAccount("free");
  for (const scope of keyScopes)
    keys[scope] = (await issueKey(test.pool, { accountId, service: "trace", scope, name: scope })).key;
});
afterAll(() => void server.close());

interface Operation {
  id: string;
  method: string;
  path: string;
  scope: KeyScope;
}

/** Every operation behind a key, as the routes describe themselves. */
async function readOperations(): Promise<Operation[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId: id, security }]) => {
      if (security?.length === 0) return [];
      return [{ id, method: method.toUpperCase(), path, scope: security?.[0]?.apiKey[0] as KeyScope }];
    }),
  );
}

/** Sends what no route takes: ids of nothing, and half a body. */
async function ask({ method, path }: Operation, scope: KeyScope) {
  const hasBody = method !== "GET" && method !== "DELETE";
  const answer = await fetch(url + path.replace(/\{\w+\}/g, "01a1fd75-95f1-7139-8956-fe5f6f1c5b32"), {
    method,
    headers: { Authorization: `Bearer ${keys[scope]}`, "Content-Type": "application/json" },
    ...(hasBody && { body: "{" }),
  });
  const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream");
  const body = isStream ? {} : ((await answer.json()) as { error?: string });
  if (isStream) await answer.body?.cancel();
  return { status: answer.status, error: body.error, challenge: answer.headers.get("www-authenticate") };
}

describe("a key's scope", () => {
  it("is declared by each route: sending, reading, or deleting", async () => {
    const operations = await readOperations();
    const idsOf = (scope: KeyScope) => operations.filter((each) => each.scope === scope).map(({ id }) => id);
    expect(idsOf("ingest")).toEqual(
      expect.arrayContaining(["createTrace", "finalizeTrace", "addSpan", "addSpans", "addScore", "exportTraces"]),
    );
    expect(idsOf("read")).toEqual(
      expect.arrayContaining(["getTrace", "listTraces", "streamTraces", "getUsage", "listFailures", "mcp"]),
    );
    expect(idsOf("all").sort()).toEqual(["changeAccount", "deleteTrace"]);
    expect(operations.filter(({ scope }) => !keyScopes.includes(scope))).toEqual([]);
    const reading = operations.filter(({ method, id }) => method === "GET" || id === "mcp");
    expect(reading.filter(({ scope }) => scope !== "read")).toEqual([]);
  });

  it("is checked by each route before it reads the body, 403 where it does not suffice", async () => {
    for (const operation of await readOperations()) {
      for (const scope of keyScopes) {
        const problem = scopeProblem(scope, operation.scope);
        const answer = await ask(operation, scope);
        const seen = { operation: operation.id, scope, ...answer };
        if (problem === undefined) expect([200, 400, 404]).toContain(answer.status);
        else expect(seen).toMatchObject({ status: 403, error: problem, challenge: expect.stringContaining("Bearer") });
      }
    }
  });

  it("of ingest stores a trace and tells the month's quota, and deletes nothing", async () => {
    const send = (method: string, path: string, key = keys.ingest, body?: object) =>
      fetch(`${url}/api/v1/traces${path}`, {
        method,
        headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
    const made = await send("POST", "", keys.ingest, traceBody());
    expect([made.status, made.headers.get("ratelimit-remaining")]).toEqual([201, "999"]);
    const { trace_id } = (await made.json()) as { trace_id: string };
    const ended = { status: "success", ended_at: "2026-06-01T12:00:05.000Z" };
    expect((await send("PATCH", `/${trace_id}`, keys.ingest, ended)).status).toBe(200);
    expect((await send("DELETE", `/${trace_id}`)).status).toBe(403);
    expect((await send("DELETE", `/${trace_id}`, keys.read)).status).toBe(403);
    expect((await send("GET", `/${trace_id}`)).status).toBe(403);
    expect(await (await send("GET", `/${trace_id}`, keys.read)).json()).toMatchObject({ status: "success" });
    expect((await send("DELETE", `/${trace_id}`, keys.all)).status).toBe(200);
  });

  it("is refused in OpenTelemetry's shape at its route", async () => {
    const answer = await fetch(`${url}/v1/traces`, {
      method: "POST",
      headers: { Authorization: `Bearer ${keys.read}`, "Content-Type": "application/json" },
      body: "{}",
    });
    const message = scopeProblem("read", "ingest");
    expect([answer.status, await answer.json()]).toEqual([403, { code: 7, message, error: message }]);
  });

  it("changed in the database is heard at once", async () => {
    const status = async () =>
      (await fetch(`${url}/api/v1/traces`, { headers: { Authorization: `Bearer ${keys.read}` } })).status;
    expect(await status()).toBe(200);
    await test.pool.query("UPDATE api_key SET scope = 'ingest' WHERE name = 'read'");
    while ((await status()) === 200);
    expect(await status()).toBe(403);
  });
});
