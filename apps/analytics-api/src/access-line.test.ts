import { describe, expect, it } from "@jest/globals";
import { createLogger } from "@waymark/service";
import { useApp } from "./app.fixture.js";

const lines: string[] = [];
const destination = { write: (line: string) => void lines.push(line) };
const log = createLogger({ service: "analytics-api", level: "info", destination });
const api = useApp(undefined, undefined, log);

const accessLine = (id: string) => lines.map((line) => JSON.parse(line)).find(({ requestId }) => requestId === id);

describe("the access line", () => {
  it("names the account and the key's id, never the key", async () => {
    const account = await api.makeAccount();
    const { rows } = await api.pool.query("SELECT id FROM api_key WHERE account_id = $1", [account.id]);
    await account.get("/api/v1/sites").set("X-Request-Id", "read").expect(200);
    expect(accessLine("read")).toMatchObject({ accountId: account.id, keyId: rows[0].id });
    expect(lines.join("")).not.toContain(account.key.slice(8));
  });
});
