import { EventEmitter } from "node:events";
import { describe, expect, it } from "@jest/globals";
import type { Request, Response } from "express";
import { Registry } from "prom-client";
import { useDashboard } from "../dashboard.fixture.js";
import { admitViewer } from "./admission.js";

/** Requests that stay in hand until they are closed; the outcome is `admitted` or the refusal's status and reason. */
function useAdmission() {
  let atMs = 0;
  const admit = admitViewer({ registry: new Registry(), clock: () => atMs });
  return {
    pass: (ms: number) => {
      atMs += ms;
    },
    ask(accountId: string, sessionId: string, isClosed = false) {
      const viewer = { accountId, sessionId };
      const response = Object.assign(new EventEmitter(), { locals: { viewer }, closed: isClosed });
      let outcome: unknown = "skipped";
      try {
        admit({} as Request, response as unknown as Response, () => {
          outcome = "admitted";
        });
      } catch (error) {
        const { status, body } = error as { status: number; body: { reason?: string } };
        outcome = [status, body.reason].filter(Boolean);
      }
      return { outcome, close: () => response.emit("close") };
    },
  };
}

describe("requests of a session", () => {
  it("are 100 a second with bursts of 2,000; another session has its own", () => {
    const { ask, pass } = useAdmission();
    const askAndEnd = (sessionId: string) => {
      const { outcome, close } = ask("a", sessionId);
      close();
      return outcome;
    };
    expect(new Set(Array.from({ length: 2_000 }, () => askAndEnd("one")))).toEqual(new Set(["admitted"]));
    expect(askAndEnd("one")).toEqual([429]);
    expect(askAndEnd("other")).toBe("admitted");
    pass(1_000);
    expect(new Set(Array.from({ length: 100 }, () => askAndEnd("one")))).toEqual(new Set(["admitted"]));
    expect(askAndEnd("one")).toEqual([429]);
  });

  it("in hand are 256 of an account and 1,024 of all", () => {
    const { ask } = useAdmission();
    const hold = (account: string) => Array.from({ length: 256 }, () => ask(account, account));
    const [first] = hold("0");
    expect(ask("0", "0").outcome).toEqual([429, "At most 256 requests may be in hand of one account"]);
    expect(ask("0", "another").outcome).toMatchObject([429, expect.anything()]);
    for (let account = 1; account < 4; account++) hold(`${account}`);
    expect(ask("8", "8").outcome).toEqual([503, "At most 1024 requests may be in hand of all accounts together"]);
    first?.close();
    expect(ask("9", "9", true).outcome).toBe("skipped");
    expect(ask("8", "8").outcome).toBe("admitted");
  });
});

describe("the dashboard", () => {
  const dashboard = useDashboard({ deps: { requestsPerAccount: 2 } });

  it("refuses an account's request in hand beyond the limit", async () => {
    const viewer = await dashboard.signIn(await dashboard.makeAccount());
    const blocker = await dashboard.pool.connect();
    try {
      await blocker.query("BEGIN");
      await blocker.query("LOCK TABLE daily_stat IN ACCESS EXCLUSIVE MODE");
      const asked = Array.from({ length: 3 }, () => viewer.get("/sites").then(({ status }) => status));
      expect(await Promise.race(asked)).toBe(429);
      await blocker.query("ROLLBACK");
      await Promise.all(asked);
      await viewer.get("/sites").expect(200);
    } finally {
      blocker.release(true);
    }
  });
});
