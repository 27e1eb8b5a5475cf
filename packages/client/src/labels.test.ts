import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { createWaymark } from "./index.js";

/** An SDK on a simulated service, and the bodies of its traces by name. */
function connect() {
  const bodies = new Map<string, Record<string, unknown>>();
  const play: typeof fetch = async (_, init) => {
    const body = JSON.parse(String(init?.body));
    if (body.name) bodies.set(body.name, body);
    return Response.json(body.spans ? { span_ids: ["s"] } : { trace_id: "t", ok: true }, {
      status: body.name ? 201 : 200,
    });
  };
  return { waymark: createWaymark({ key: "wmk_trace_x", fetch: play, flushOnExit: false }), bodies };
}

const start = { agent_id: "a" };

describe("labels of traces", () => {
  it("are those of the blocks around them, also after awaits, and the trace's own win", async () => {
    const { waymark, bodies } = connect();
    const result = await waymark.propagate({ session_id: "s", user_id: "u", tags: ["x"], visit: "v1" }, async () => {
      await setTimeout(1);
      waymark.startTrace({ ...start, name: "outer" });
      waymark.propagate({ user_id: "v", release: "1" }, () =>
        waymark.startTrace({ ...start, name: "inner", release: "2" }),
      );
      return 7;
    });
    waymark.startTrace({ ...start, name: "outside" });
    await waymark.flush();
    expect(result).toBe(7);
    expect(bodies.get("outer")).toMatchObject({ session_id: "s", user_id: "u", tags: ["x"], visit: "v1" });
    expect(bodies.get("inner")).toMatchObject({
      session_id: "s",
      user_id: "v",
      release: "2",
      tags: ["x"],
      visit: "v1",
    });
    expect(Object.keys(bodies.get("outside") ?? {})).toEqual(["agent_id", "name", "status", "started_at"]);
  });

  it("are cut to the limits of the service; empty ones are left out", async () => {
    const { waymark, bodies } = connect();
    const tags = ["a".repeat(300), "b", "b", "", ...Array.from({ length: 40 }, (_, n) => `${n}`)];
    const labels = { session_id: "s".repeat(300), user_id: "", environment: null, release: "\ud800", tags };
    waymark.startTrace({ ...start, name: "n", ...labels });
    await waymark.flush();
    const { tags: sent, ...others } = bodies.get("n") ?? {};
    expect(others).toMatchObject({ session_id: "s".repeat(200), release: "\ufffd" });
    expect(others).not.toHaveProperty("user_id");
    expect(others).not.toHaveProperty("environment");
    expect(sent).toHaveLength(20);
    expect(sent).toEqual(expect.arrayContaining(["a".repeat(100), "b", "17"]));
  });
});
