import { describe, expect, it } from "@jest/globals";
import { maxScoresPerTrace } from "@waymark/traces";
import { useDashboard } from "../dashboard.fixture.js";
import { addTrace } from "../trace/trace.fixture.js";
import { useTraceApi } from "../traces/trace-api.fixture.js";

const dashboard = useDashboard();
const api = useTraceApi(dashboard);
const { pool } = dashboard;

async function setUp() {
  const accountId = await dashboard.makeAccount();
  const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
  const { id, spanIds } = await addTrace(pool, accountId, { spans: [{ name: "step", from: 0 }] });
  const client = await api.client(accountId);
  const path = `/traces/${id}/scores`;
  return { accountId, owner, member, id, spanId: spanIds[0] ?? "", client, path };
}

describe("scores by hand", () => {
  it("are the API's with their source, and say who gave them", async () => {
    const { member, id, spanId, client, path } = await setUp();
    await client.post(`/api/v1${path}`, { name: "accuracy", value: 0.5, comment: "by a judge" }).expect(201);
    await member.post(path, { name: "helpful", value: false, comment: "Too late" }).expect(201);
    await member.post(path, { name: "tone", value: "kind", spanId: spanId.toUpperCase() }).expect(201);
    const { scores } = (await client.get(`/api/v1/traces/${id}?include=scores`).expect(200)).body;
    expect(scores).toMatchObject([
      { name: "accuracy", value: 0.5, source: "api", span_id: null },
      { name: "helpful", value: false, source: "person", comment: "Too late", span_id: null },
      { name: "tone", value: "kind", source: "person", span_id: spanId },
    ]);
    const { body } = await member.get(path).expect(200);
    const [by, mayRemove] = ["A member", true];
    expect(body.scores).toEqual([
      { ...scores[0], by: null, mayRemove: false },
      { ...scores[1], by, mayRemove },
      { ...scores[2], by, mayRemove },
    ]);
    const found = await client.get("/api/v1/traces?score=helpful&max_score=0").expect(200);
    expect(found.body.traces).toMatchObject([{ id }]);
  });

  it("go by who gave them or by an owner, those of the API by nobody", async () => {
    const { accountId, owner, member, client, path } = await setUp();
    const another = await dashboard.signIn(accountId, "member");
    await client.post(`/api/v1${path}`, { name: "accuracy", value: 1 }).expect(201);
    const give = async () => (await member.post(path, { name: "helpful", value: true }).expect(201)).body.id;
    const [own, second] = [await give(), await give()];
    const [sent] = (await owner.get(path)).body.scores;
    for (const id of [sent.id, "none"]) await owner.delete(`${path}/${id}`).expect(404);
    await another.delete(`${path}/${own}`).expect(404);
    await member.delete(`${path}/${own}`).expect(200);
    await owner.delete(`${path}/${second}`).expect(200);
    await owner.delete(`${path}/${second}`).expect(404);
    expect((await owner.get(path)).body.scores).toMatchObject([{ id: sent.id }]);
  });

  it.each([
    [{ value: true }, "name"],
    [{ name: "n", value: 1e16 }, "value"],
    [{ name: "n", value: null }, "value"],
    [{ name: "n", value: 1, comment: "c".repeat(4_001) }, "comment"],
    [{ name: "n", value: 1, spanId: "none" }, "spanId"],
  ])("answer 400 for a wrong field (%#)", async (body, field) => {
    const { member, path } = await setUp();
    expect(Object.keys((await member.post(path, body).expect(400)).body.fields)).toEqual([field]);
  });

  it("answer 404 for another account's trace and span", async () => {
    const { member, path, id } = await setUp();
    const theirs = await setUp();
    const body = { name: "helpful", value: true };
    const { id: scoreId } = (await theirs.member.post(theirs.path, body).expect(201)).body;
    await member.get(theirs.path).expect(404);
    expect((await member.post(theirs.path, body).expect(404)).body).toEqual({ error: "Trace not found" });
    const ofSpan = await member.post(path, { ...body, spanId: theirs.spanId }).expect(404);
    expect(ofSpan.body).toEqual({ error: "Span not found" });
    for (const traceId of [id, theirs.id]) await member.delete(`/traces/${traceId}/scores/${scoreId}`).expect(404);
    expect((await theirs.owner.get(theirs.path)).body.scores).toHaveLength(1);
  });

  it("answer 409 beyond a hundred of a trace, and 429 beyond the month's bytes, as the API does", async () => {
    const { accountId, member, id, path, client } = await setUp();
    await pool.query(
      `INSERT INTO score (account_id, trace_id, id, name, kind, number)
       SELECT $1, $2, gen_random_uuid(), 'n', 'number', 1 FROM generate_series(1, $3::int)`,
      [accountId, id, maxScoresPerTrace],
    );
    const full = await member.post(path, { name: "n", value: 1 }).expect(409);
    expect(full.body).toEqual((await client.post(`/api/v1${path}`, { name: "n", value: 1 }).expect(409)).body);
    const other = await addTrace(pool, accountId, {});
    const month =
      "INSERT INTO trace_usage (account_id, month, traces, bytes) VALUES ($1, date_trunc('month', $2::timestamptz AT TIME ZONE 'UTC')::date, 1, 1e12)";
    await pool.query(month, [accountId, new Date()]);
    const refused = await member.post(`/traces/${other.id}/scores`, { name: "n", value: 1 }).expect(429);
    const theirs = await client.post(`/api/v1/traces/${other.id}/scores`, { name: "n", value: 1 }).expect(429);
    expect(refused.body).toEqual(theirs.body);
  });
});
