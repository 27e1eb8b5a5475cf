import { describe, expect, it } from "@jest/globals";
import { createLogger } from "@waymark/service";
import { useDashboard } from "../dashboard.fixture.js";

const lines: string[] = [];
const destination = { write: (line: string) => void lines.push(line) };
const log = createLogger({ service: "dashboard", level: "info", destination });
const dashboard = useDashboard({ deps: { log } });

const accessLine = (id: string) => lines.map((line) => JSON.parse(line)).find(({ requestId }) => requestId === id);

describe("the access line", () => {
  it("names the account of a session, and nobody without one", async () => {
    const accountId = await dashboard.makeAccount();
    const owner = await dashboard.signIn(accountId);
    await owner.get("/me").set("X-Request-Id", "owner").expect(200);
    await dashboard.anonymous().get("/me").set("X-Request-Id", "nobody").expect(401);
    expect(accessLine("owner")).toMatchObject({ accountId });
    expect(accessLine("nobody")).not.toHaveProperty("accountId");
  });
});
