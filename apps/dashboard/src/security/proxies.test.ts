import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { useDashboard } from "../dashboard.fixture.js";

const bare = useDashboard();
const proxied = useDashboard({ env: { TRUSTED_PROXIES: "loopback" } });

describe("X-Forwarded-For", () => {
  it.each([
    ["outside TRUSTED_PROXIES is noted on /ready, which stays 200", bare, true],
    ["of a trusted proxy is not noted", proxied, false],
  ])("%s", async (_name, dashboard, isNoted) => {
    const body = { email: "ada@example.com", password: "wrong horse" };
    await dashboard.anonymous().post("/sign-in", body).set("X-Forwarded-For", "192.0.2.1").expect(401);
    const answer = await request(dashboard.app).get("/ready").expect(200);
    const note = expect.stringContaining("outside TRUSTED_PROXIES");
    expect(answer.body.notes).toEqual(isNoted ? [note] : undefined);
  });
});
