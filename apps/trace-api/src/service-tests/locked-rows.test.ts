import { describe, expect, it } from "@jest/globals";
import { spanBody, type TestAccount, traceBody, useApp } from "../app.fixture.js";

describe("a row that somebody keeps locked", () => {
  // Longer than any test holds a lock: an answer then did not wait for it.
  const test = useApp({ lockTimeoutMs: 9_000 });
  const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
  const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status);

  const makeSpan = async (account: TestAccount, traceId: string): Promise<string> =>
    (await account.post(`/api/v1/traces/${traceId}/spans`, spanBody()).expect(201)).body.span_id;

  it("delays neither another account's PATCH nor other traces of its own", async () => {
    const [locked, free] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const [stuck, beside, other] = [await locked.makeTrace(), await locked.makeTrace(), await free.makeTrace()];
    const lock = await test.hold("SELECT FROM trace WHERE id = $1 FOR UPDATE", [stuck]);
    const order: string[] = [];
    const waiting = times(3, async (n) => {
      const answer = await locked.patch(`/api/v1/traces/${stuck}`, { status: n % 2 ? "success" : "timeout" });
      order.push(`stuck ${n}`);
      return answer;
    });
    await test.untilLockWaits();
    expect(
      statusesOf(await Promise.all(times(10, () => free.patch(`/api/v1/traces/${other}`, { status: "error" })))),
    ).toEqual(times(10, () => 200));
    await locked.patch(`/api/v1/traces/${beside}`, { status: "success" }).expect(200);
    expect(order).toEqual([]);
    await lock.rollback();
    expect(statusesOf(await Promise.all(waiting))).toEqual([200, 200, 200]);
    expect(order).toEqual(["stuck 0", "stuck 1", "stuck 2"]);
    expect((await locked.get(`/api/v1/traces/${stuck}`)).body.status).toBe("timeout");
  });

  it("delays no other change of a span", async () => {
    const [locked, free] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const [trace, otherTrace] = [await locked.makeTrace(), await free.makeTrace()];
    const [stuck, other] = [await makeSpan(locked, trace), await makeSpan(free, otherTrace)];
    const lock = await test.hold("SELECT FROM span WHERE id = $1 FOR UPDATE", [stuck]);
    const waiting = locked.patch(`/api/v1/traces/${trace}/spans/${stuck}`, { output: 1 }).then(({ status }) => status);
    await test.untilLockWaits();
    const path = `/api/v1/traces/${otherTrace}/spans`;
    expect(statusesOf(await Promise.all(times(10, (n) => free.patch(`${path}/${other}`, { output: n }))))).toEqual(
      times(10, () => 200),
    );
    await free.patch(`${path}/${stuck}`, { output: 1 }).expect(404, { error: "Span not found" });
    await lock.rollback();
    expect(await waiting).toBe(200);
    const { spans } = (await locked.get(`/api/v1/traces/${trace}`)).body;
    expect(spans[0].output).toBe(1);
  });

  it.each([undefined, "key"])(
    "of a month's count delays no other account's creates (idempotency key: %s)",
    async (key) => {
      const [locked, free] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      await locked.makeTrace();
      await free.makeTrace();
      const create = (account: TestAccount, n: number) => {
        const request = account.post("/api/v1/traces", traceBody());
        return key === undefined ? request : request.set("Idempotency-Key", `${key} ${n}`);
      };
      const lock = await test.hold("SELECT FROM trace_usage WHERE account_id = $1 FOR UPDATE", [locked.id]);
      const waiting = Promise.all(times(5, (n) => create(locked, n)));
      await test.untilLockWaits();
      expect(statusesOf(await Promise.all(times(10, (n) => create(free, n))))).toEqual(times(10, () => 201));
      await lock.rollback();
      expect(statusesOf(await waiting)).toEqual(times(5, () => 201));
      const { rows } = await test.pool.query("SELECT traces FROM trace_usage WHERE account_id = $1", [locked.id]);
      expect(rows).toEqual([{ traces: 6 }]);
    },
  );

  /** Prepares an account; the result sends every kind of request that counts bytes, and returns the statuses. */
  const prepareSends = async (account: TestAccount, n: number) => {
    const trace = await account.makeTrace();
    const path = `/api/v1/traces/${trace}/spans`;
    const span = await makeSpan(account, trace);
    const exported = (spanId: string) => {
      const one = { traceId: `${n}`.repeat(32), spanId: spanId.repeat(16), name: "s" };
      const attributes = [{ key: "gen_ai.usage.input_tokens", value: { intValue: 7 } }];
      const spans = [{ ...one, startTimeUnixNano: "1", endTimeUnixNano: "2", attributes }];
      return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
    };
    await account.post("/v1/traces", exported("1")).expect(200);
    const send = () =>
      Promise.all([
        account.post(path, spanBody()),
        account.post(`${path}/batch`, { spans: [spanBody(), spanBody()] }),
        account.patch(`${path}/${span}`, { output: 1 }),
        account.patch(`${path}/${span}`, { attributes: { a: 1 } }),
        account.post("/v1/traces", exported("2")),
      ]).then(statusesOf);
    return { trace, span, send };
  };

  it("of a month's bytes delays no other account's spans, changes and exports", async () => {
    const [locked, free] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const [{ send: sendLocked }, { send: sendFree }] = [await prepareSends(locked, 3), await prepareSends(free, 4)];
    const lock = await test.hold("SELECT FROM trace_usage WHERE account_id = $1 FOR UPDATE", [locked.id]);
    const waiting = sendLocked();
    await test.untilLockWaits();
    expect(await sendFree()).toEqual([201, 201, 200, 200, 200]);
    await lock.rollback();
    expect(await waiting).toEqual([201, 201, 200, 200, 200]);
  });

  // Postgres 18.4 ended all sessions here: see `isSpanSql`.
  it.each(["month", "span"])("and changes, a %s, is read again by the requests that waited", async (kind) => {
    const account = await test.makeAccount("pro");
    const { trace, span, send } = await prepareSends(account, 5);
    const lock =
      kind === "month"
        ? await test.hold("UPDATE trace_usage SET bytes = bytes + 1 WHERE account_id = $1", [account.id])
        : await test.hold("UPDATE span SET error = 'late' WHERE id = $1", [span]);
    const waiting = send();
    await test.untilLockWaits();
    await lock.commit();
    expect(await waiting).toEqual([201, 201, 200, 200, 200]);
    const { spans } = (await account.get(`/api/v1/traces/${trace}?include=attributes`)).body;
    expect(spans).toHaveLength(4);
    expect(spans[0]).toMatchObject({ output: 1, attributes: { a: 1 }, error: kind === "month" ? null : "late" });
  });

  it("of an OpenTelemetry trace delays no other root", async () => {
    const [locked, free] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const send = (account: TestAccount, traceId: string, spanId: string, parentSpanId?: string) =>
      account.post("/v1/traces", {
        resourceSpans: [
          {
            scopeSpans: [
              { spans: [{ traceId, spanId, parentSpanId, name: "s", startTimeUnixNano: "1", endTimeUnixNano: "2" }] },
            ],
          },
        ],
      });
    const [stuck, other] = ["1".repeat(32), "2".repeat(32)];
    await send(locked, stuck, "1".repeat(16), "2".repeat(16)).expect(200);
    await send(free, other, "1".repeat(16), "2".repeat(16)).expect(200);
    const lock = await test.hold("SELECT FROM trace WHERE account_id = $1 FOR UPDATE", [locked.id]);
    const waiting = send(locked, stuck, "2".repeat(16)).then(({ status }) => status);
    await test.untilLockWaits();
    await send(free, other, "2".repeat(16)).expect(200);
    await lock.rollback();
    expect(await waiting).toBe(200);
    for (const account of [locked, free])
      expect((await account.get("/api/v1/traces")).body.traces).toMatchObject([{ status: "success" }]);
  });

  it("that is deleted meanwhile is not found", async () => {
    const account = await test.makeAccount("pro");
    const trace = await account.makeTrace();
    const lock = await test.hold("DELETE FROM trace WHERE id = $1", [trace]);
    const waiting = account.patch(`/api/v1/traces/${trace}`, { status: "error" }).then(({ status }) => status);
    await test.untilLockWaits();
    await lock.commit();
    expect(await waiting).toBe(404);
  });
});
