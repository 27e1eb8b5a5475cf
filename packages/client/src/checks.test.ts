import { describe, expect, it, jest } from "@jest/globals";
import { createWaymark, type TraceOptions, type WaymarkOptions } from "./index.js";

/** What arrives of an untyped program, and what it is warned of. */
function record(options: unknown, use: (waymark: ReturnType<typeof createWaymark>) => unknown) {
  const [warnings, bodies]: [string[], Record<string, unknown>[]] = [[], []];
  const play: typeof fetch = async (_, init) => {
    bodies.push(JSON.parse(String(init?.body)));
    return Response.json({ trace_id: "t", ok: true, span_ids: ["s"] });
  };
  const base = { fetch: play, flushOnExit: false, onWarning: (message: string) => void warnings.push(message) };
  const waymark = createWaymark({ ...base, ...(options as WaymarkOptions) });
  use(waymark);
  return { waymark, warnings, bodies, flushed: waymark.flush() };
}

const key = "wmk_trace_x";
const untyped = (value: unknown) => value as TraceOptions;

describe("a client", () => {
  it.each([
    [{}, "no key: set WAYMARK_TRACE_KEY"],
    [{ key: "wmk_stats_x" }, "statistics"],
    [{ key: "a\nb" }, "invalid header value"],
    [{ key: 5 }, "no text"],
    [{ key, url: "nowhere" }, "Invalid URL"],
  ])("with %j warns once, records nothing and throws nothing", async (options, reason) => {
    const { waymark, warnings, bodies, flushed } = record(options, (waymark) => {
      for (let n = 0; n < 3; n++) waymark.startTrace({ agent_id: "a", name: "n" }).span("s").end();
    });
    expect(await flushed).toBe(true);
    expect(await waymark.trace({ agent_id: "a", name: "n" }, (span) => span.run("x", () => 7))).toBe(7);
    expect(warnings).toEqual([expect.stringContaining(reason)]);
    expect(warnings[0]).toContain("nothing is recorded");
    expect(bodies).toEqual([]);
    await expect(waymark.api.usage()).rejects.toThrow(reason);
  });

  it("reads its key and its address from the environment", async () => {
    const env = { WAYMARK_TRACE_KEY: ` ${key}\n`, WAYMARK_TRACE_URL: "http://waymark.test/base/" };
    const replaced = jest.replaceProperty(process, "env", env);
    const asked: [string, string | null][] = [];
    const play: typeof fetch = async (url, init) => {
      asked.push([String(url), new Headers(init?.headers).get("Authorization")]);
      return Response.json({ trace_id: "t" });
    };
    const waymark = createWaymark({ fetch: play, flushOnExit: false });
    replaced.restore();
    waymark.startTrace({ agent_id: "a", name: "n" });
    await waymark.flush();
    expect(asked).toEqual([["http://waymark.test/base/api/v1/traces", `Bearer ${key}`]]);
  });

  it("without options at all throws nothing", () => {
    const warn = jest.spyOn(console, "warn").mockImplementation(() => undefined);
    expect(() => createWaymark(null as unknown as WaymarkOptions)).not.toThrow();
    warn.mockRestore();
  });
});

describe("the arguments of a trace", () => {
  it("may be in camel case", async () => {
    const { bodies, flushed, warnings } = record({ key }, (waymark) =>
      waymark.propagate({ sessionId: "s" }, () => waymark.startTrace({ agentId: "a", name: "n", userId: "u" })),
    );
    await flushed;
    expect(bodies[0]).toMatchObject({ agent_id: "a", session_id: "s", user_id: "u" });
    expect(warnings).toEqual([]);
  });

  it.each([
    [undefined, "needs an `agent_id`"],
    [null, "needs an `agent_id`"],
    [{ agentID: "a", name: "n" }, 'has no "agentID"; there are agent_id, name'],
  ])("that are wrong are told once: %j", async (options, message) => {
    const { bodies, flushed, warnings } = record({ key }, (waymark) => {
      for (let n = 0; n < 2; n++) waymark.startTrace(untyped(options)).span(undefined as unknown as string);
    });
    await flushed;
    expect(warnings.join("\n")).toContain(message);
    expect(new Set(warnings).size).toBe(warnings.length);
    expect(bodies[0]).toMatchObject({ agent_id: "(no name)" });
  });

  it("of a span that are wrong are told and left out", async () => {
    const { bodies, flushed, warnings } = record({ key }, (waymark) => {
      const trace = waymark.startTrace({ agent_id: "a", name: "n" });
      trace.span("s", { kind: "llm" as "model", input: 1 }).end({ status: "fine" as "ok", output: 2 });
      trace.span("t", null as unknown as undefined).end(null as unknown as undefined);
    });
    await flushed;
    expect(warnings).toEqual([expect.stringContaining('not "llm"'), expect.stringContaining('not "fine"')]);
    const { spans } = bodies.find((body) => "spans" in body) as { spans: unknown[] };
    expect(spans).toMatchObject([
      { name: "s", status: "ok", input: 1, output: 2 },
      { name: "t", status: "ok" },
    ]);
  });
});
