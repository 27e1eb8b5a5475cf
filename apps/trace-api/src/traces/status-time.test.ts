import { describe, expect, it } from "@jest/globals";
import { createChannel, createRule, evaluateRules, tellRecoveries } from "@waymark/alerts";
import { type TestAccount, useApp } from "../app.fixture.js";

describe("a change of a trace that leaves its status", () => {
  const test = useApp();
  const hook = { kind: "webhook", to: "https://example.com/hook", recovered: true } as const;
  const goOn = { isStopping: () => false };
  const end = (account: TestAccount, traceId: string, body: Record<string, unknown>) =>
    account.patch(`/api/v1/traces/${traceId}`, body).expect(200);

  it.each([{ ended_at: "2026-06-01T12:00:09Z" }, { status: "success" }])(
    "is no recovery of its agent (%o)",
    async (change) => {
      const account = await test.makeAccount("pro");
      await createChannel(test.pool, account.id, hook);
      const [before, after] = [await account.makeTrace(), await account.makeTrace()];
      await end(account, before, { status: "success" });
      await test.pool.query("INSERT INTO failing_agent (account_id, agent_id, since) VALUES ($1, 'agent', now())", [
        account.id,
      ]);
      await end(account, before, change);
      expect(await tellRecoveries(test.pool)).toBe(0);
      await end(account, after, { status: "success" });
      expect(await tellRecoveries(test.pool)).toBe(1);
    },
  );

  it("puts no earlier failure into a rule's time", async () => {
    const account = await test.makeAccount("pro");
    await createChannel(test.pool, account.id, hook);
    await createRule(test.pool, account.id, { agentId: "agent", abovePercent: 20, ofTraces: 5, withinSeconds: 900 });
    const traces: string[] = [];
    for (let n = 0; n < 5; n++) traces.push(await account.makeTrace({ status: "error" }));
    await test.pool.query("UPDATE trace SET written_at = now() - interval '1 hour' WHERE account_id = $1", [
      account.id,
    ]);
    for (const id of traces) {
      await end(account, id, { ended_at: "2026-06-01T12:00:09Z" });
      await end(account, id, { status: "error" });
    }
    expect(await evaluateRules(test.pool, goOn)).toBe(0);
    for (const id of traces) await end(account, id, { status: "timeout" });
    expect(await evaluateRules(test.pool, goOn)).toBe(1);
  });
});
