import { describe, expect, it } from "@jest/globals";
import { createLogger } from "@waymark/service";
import request from "supertest";
import { traceBody, useApp } from "../app.fixture.js";

const lines: string[] = [];
const destination = { write: (line: string) => void lines.push(line) };
const log = createLogger({ service: "trace-api", level: "info", destination });
const api = useApp({ log });

const accessLine = (id: string) => lines.map((line) => JSON.parse(line)).find(({ requestId }) => requestId === id);

describe("the access line", () => {
  it("names the account and the key's id, also of a refused request, and never the key", async () => {
    const account = await api.makeAccount("pro");
    const { rows } = await api.pool.query("SELECT id FROM api_key WHERE account_id = $1", [account.id]);
    await account.post("/api/v1/traces", traceBody()).set("X-Request-Id", "stored").expect(201);
    await account.post("/api/v1/traces", {}).set("X-Request-Id", "refused").expect(400);
    for (const [id, status] of [
      ["stored", 201],
      ["refused", 400],
    ] as const)
      expect(accessLine(id)).toMatchObject({ status, accountId: account.id, keyId: rows[0].id });
    expect(lines.join("")).not.toContain(account.key.slice(8));
  });

  it("names nobody without a good key", async () => {
    const test = request(api.app).get("/api/v1/traces").set("Authorization", "Bearer wt_unknown");
    await test.set("X-Request-Id", "unknown").expect(401);
    expect(accessLine("unknown")).toMatchObject({ status: 401 });
    expect(accessLine("unknown")).not.toHaveProperty("accountId");
  });
});
