import { describe, expect, it } from "@jest/globals";
import { createLogger } from "@waymark/service";
import { useApp } from "../app.fixture.js";

const lines: string[] = [];
const destination = { write: (line: string) => void lines.push(line) };
const log = createLogger({ service: "collector", level: "info", destination });
const collector = useApp({ log });

const accessLine = (id: string) => lines.map((line) => JSON.parse(line)).find(({ requestId }) => requestId === id);

describe("the access line", () => {
  it("names the account of an event's site, and nobody for an unknown domain", async () => {
    const site = await collector.makeSite();
    const { rows } = await collector.pool.query("SELECT account_id FROM site WHERE id = $1", [site.id]);
    const send = (domain: string) =>
      collector.post({ n: "pageview", u: `https://${domain}/`, d: domain }, { "X-Request-Id": domain }).expect(202);
    await send(site.domain);
    await send("unknown.example");
    expect(accessLine(site.domain)).toMatchObject({ status: 202, accountId: rows[0].account_id });
    expect(accessLine("unknown.example")).not.toHaveProperty("accountId");
  });
});
