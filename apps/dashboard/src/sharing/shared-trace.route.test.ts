import { describe, expect, it } from "@jest/globals";
import { built } from "@waymark/testing";
import { useDashboard } from "../dashboard.fixture.js";
import { readPages } from "../pages/pages.js";
import { makeSite } from "../statistics/statistics.fixture.js";
import { addTrace } from "../trace/trace.fixture.js";
import { openPage, shareLink } from "./sharing.fixture.js";

const dashboard = useDashboard({ pages: readPages(built(new URL("../../dist/web/", import.meta.url))) });
const missing = { error: "Not found" };

async function open() {
  const accountId = await dashboard.makeAccount();
  const owner = await dashboard.signIn(accountId);
  const { id: trace } = await addTrace(dashboard.pool, accountId, {
    spans: [
      { name: "model call", from: 0, to: 2_000, input: '{"question":1}', output: '"an answer"' },
      { name: "tool", parent: 0, status: "error", from: 900, to: 943, error: "amount does not add up" },
    ],
  });
  const labels =
    "user_id = 'secret-user', session_id = 'secret-session', tags = '{secret-tag}', agent_id = 'secret-agent'";
  await dashboard.pool.query(`UPDATE trace SET ${labels} WHERE id = $1`, [trace]);
  return { accountId, owner, trace };
}

const read = (token: string, path = "") => dashboard.anonymous().get(`/shared/${token}${path}`);

describe("a shared link of a trace", () => {
  it("shows its outline and contents as the owner sees them, without ids and labels", async () => {
    const { owner, trace, accountId } = await open();
    const { token, id } = await shareLink(owner, `/traces/${trace}`);
    expect((await read(token).expect(200)).body).toEqual({ shows: "trace", needsPassword: false });
    const { body: mine } = await owner.get(`/traces/${trace}/outline`).expect(200);
    const outline = await read(token, "/outline").expect(200).expect("X-Robots-Tag", "noindex, nofollow");
    const { name, status, started_at, ended_at, spans, errors, first_failed } = mine.trace;
    const shown = { name, status, started_at, ended_at, spans, errors, first_failed };
    expect({ ...outline.body, at: "" }).toEqual({ ...mine, at: "", trace: shown });
    expect(Object.keys(outline.body.trace)).toEqual(Object.keys(shown));
    const texts = [outline.text, JSON.stringify(outline.headers)];
    for (const span of mine.id) {
      const answer = await read(token, `/spans/${span}`).expect(200);
      expect(answer.body).toEqual((await owner.get(`/traces/${trace}/spans/${span}`)).body);
      texts.push(answer.text, JSON.stringify(answer.headers));
    }
    expect((await read(token, `/spans/${mine.id[0]}/input`)).text.trim()).toBe('{"question":1}');
    texts.push((await openPage(dashboard, token).expect(200)).text, (await read(token)).text);
    const secrets = [accountId, trace, id, owner.personId, owner.email, "secret-"];
    for (const secret of secrets)
      expect([secret, texts.some((text) => text.includes(secret))]).toEqual([secret, false]);
  });

  it("stays on its trace for every id of a request, and shows no statistics", async () => {
    const [{ owner, trace, accountId }, other] = [await open(), await open()];
    const { token } = await shareLink(owner, `/traces/${trace}`);
    const second = await addTrace(dashboard.pool, accountId, { spans: [{ name: "another", from: 0, to: 1 }] });
    for (const [viewer, id] of [
      [owner, second.id],
      [other.owner, other.trace],
    ] as const) {
      const { body } = await viewer.get(`/traces/${id}/outline`).expect(200);
      await read(token, `/spans/${body.id[0]}`).set("Cookie", viewer.cookie).expect(404);
      await read(token, `/spans/${body.id[0]}/input`).expect(404);
      await read(token, `/outline?ids=${body.id[0]}`).expect(200);
      await read(token, `/outline?trace=${id}`).expect(400);
      expect((await read(token, `/outline?after=${body.id[0]}`)).text).not.toContain("another");
    }
    await read(token, "/outline?include=digests").expect(400);
    for (const path of ["/stats", "/events", "/realtime", "/usage", "/export", "/scores"]) {
      expect([path, (await read(token, path)).status >= 400]).toEqual([path, true]);
    }
    const site = await makeSite(dashboard, { accountId, domain: `of-${accountId}.example` });
    const { token: siteToken } = await shareLink(owner, site);
    await read(siteToken, "/outline").expect(404, missing);
    await read(siteToken, `/spans/${trace}`).expect(404, missing);
  });

  it("is missing once the trace is deleted, and not made for another account's", async () => {
    const [{ owner, trace }, other] = [await open(), await open()];
    const { token } = await shareLink(owner, `/traces/${trace}`);
    await other.owner.post(`/traces/${trace}/links`, { lastDay: "2999-01-01" }).expect(400);
    await expect(shareLink(other.owner, `/traces/${trace}`)).rejects.toThrow("404");
    await other.owner.get(`/traces/${trace}/links`).expect(404);
    expect((await owner.get(`/traces/${trace}/links`)).body.links).toHaveLength(1);
    await owner.delete(`/traces/${trace}`).expect(200);
    await read(token).expect(404, missing);
    await read(token, "/outline").expect(404);
    await openPage(dashboard, token).expect(404);
  });
});
