import { describe, expect, it } from "@jest/globals";
import { Registry } from "prom-client";
import { createRefusals } from "./shares.js";

describe("createRefusals", () => {
  it("answers 429 for one account and 503 for all, each with the reason and when to try again", () => {
    const refusals = createRefusals(new Registry());
    expect(refusals.account("waiting_bytes", "8 MiB wait")).toMatchObject({
      status: 429,
      body: { error: "Too much in progress for this account", reason: "8 MiB wait" },
      headers: { "Retry-After": "1" },
    });
    expect(refusals.service("waiting_bytes", "32 MiB wait", 5)).toMatchObject({
      status: 503,
      body: { error: "Service temporarily unavailable", reason: "32 MiB wait" },
      headers: { "Retry-After": "5" },
    });
  });

  it("counts by limit and scope, over all that one registry has", async () => {
    const registry = new Registry();
    createRefusals(registry).account("waiting_bytes", "");
    createRefusals(registry).account("waiting_bytes", "");
    createRefusals(registry).service("waiting_rows", "");
    const text = await registry.metrics();
    expect(text).toContain('waymark_refused_total{limit="waiting_bytes",scope="account"} 2');
    expect(text).toContain('waymark_refused_total{limit="waiting_rows",scope="service"} 1');
  });
});
