import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { deleteSite, issueKey, maxLinksPerAccount, shareSite } from "@waymark/accounts";
import { createApiKey } from "@waymark/auth";
import { built } from "@waymark/testing";
import { useDashboard } from "../dashboard.fixture.js";
import { readPages } from "../pages/pages.js";
import { type Line, makeSite, useAnalyticsApi } from "../statistics/statistics.fixture.js";
import { dayAfter, openPage, shareLink } from "./sharing.fixture.js";

const dashboard = useDashboard({ pages: readPages(built(new URL("../../dist/web/", import.meta.url))) });
const api = useAnalyticsApi(dashboard);
const missing = { error: "Not found" };
const password = "correct horse battery";

const lines: Line[] = ["a", "b", "b"].map((visitor, n) => ({
  ts: new Date(Date.now() - n * 3_600_000).toISOString(),
  type: "pageview",
  path: `/page-${n}`,
  visitor,
  user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
}));

let sites = 0;
async function open() {
  const accountId = await dashboard.makeAccount();
  const owner = await dashboard.signIn(accountId);
  const domain = `shared-${++sites}.example`;
  return { accountId, owner, domain, siteId: await makeSite(dashboard, { accountId, domain, lines }) };
}

const read = (token: string, path = "", app = dashboard.app) => dashboard.anonymous(app).get(`/shared/${token}${path}`);
const paths = ["", "/stats", "/events", "/realtime", "/stats?csv=1&lists=topPages"];

describe("a shared link of a site", () => {
  it("shows the owner's figures, lists and filters without a session, and robots are told to stay out", async () => {
    const { owner, siteId, domain } = await open();
    const { token } = await shareLink(owner, siteId);
    for (const query of ["", "?range=30d&compare=year", "?range=today&filters=page:is:%2Fpage-1"]) {
      const { now: _, site, ...mine } = (await owner.get(`/sites/${siteId}/stats${query}`).expect(200)).body;
      const answer = await read(token, `/stats${query}`).expect(200).expect("X-Robots-Tag", "noindex, nofollow");
      const { now: __, ...shared } = answer.body;
      expect(shared).toEqual({ ...mine, site: { domain } });
      expect(site.id).toBe(siteId);
    }
    const csv = `/stats?csv=1&lists=topPages`;
    expect((await read(token, csv)).text).toBe((await owner.get(`/sites/${siteId}${csv}`)).text);
    expect((await read(token, "/realtime")).body.visitors).toBe(
      (await owner.get(`/sites/${siteId}/realtime`)).body.visitors,
    );
    expect((await read(token, "/events")).body.site).toEqual({ domain });
    expect((await read(token)).body).toMatchObject({ needsPassword: false });
  });

  it("tells nothing else of the account", async () => {
    const { owner, siteId, accountId } = await open();
    await makeSite(dashboard, { accountId, domain: `other-${sites}.example` });
    const { token, id } = await shareLink(owner, siteId);
    const { body: me } = await owner.get("/me");
    const answers = await Promise.all([...paths.map((path) => read(token, path)), openPage(dashboard, token)]);
    const secrets = [
      accountId,
      siteId,
      id,
      owner.personId,
      owner.email,
      me.account.email,
      me.account.name,
      `other-${sites}`,
      "The shared",
    ];
    for (const { text, headers, status } of answers) {
      expect(status).toBe(200);
      for (const secret of secrets)
        expect([secret, (text + JSON.stringify(headers)).includes(secret)]).toEqual([secret, false]);
    }
  });

  it("stays on its site for every id, cookie and header of a request", async () => {
    const [{ owner, siteId, domain }, other] = [await open(), await open()];
    const { token } = await shareLink(owner, siteId);
    const headers = {
      Cookie: other.owner.cookie,
      Origin: "https://evil.example",
      "X-Forwarded-Host": "evil.example",
      "X-Forwarded-For": "127.0.0.1",
      "X-Original-URL": `/dashboard/api/sites/${other.siteId}/stats`,
      Authorization: `Bearer ${(await issueKey(dashboard.pool, { accountId: other.accountId, service: "analytics", name: "k" })).key}`,
    };
    const { body } = await read(token, "/stats").set(headers).expect(200);
    expect(body.site).toEqual({ domain });
    for (const query of [`site=${other.siteId}`, `id=${other.siteId}`, `siteId=${other.siteId}`]) {
      await read(token, `/stats?${query}`).expect(400);
    }
    for (const path of [
      `/sites/${other.siteId}/stats`,
      `/stats/${other.siteId}`,
      `/..%2Fsites%2F${other.siteId}`,
      "/ai",
      "/links",
    ]) {
      expect([path, (await read(token, path)).status]).toEqual([path, expect.anything()]);
      expect((await read(token, path)).status).toBeGreaterThanOrEqual(401);
    }
    await dashboard
      .anonymous()
      .get(`/sites/${siteId}/stats`)
      .set({ Authorization: `Bearer ${token}` })
      .expect(401);
  });

  it("opens no API, and a shared key opens no page", async () => {
    const { owner, siteId, accountId } = await open();
    const { token } = await shareLink(owner, siteId);
    const ask = await api.client(accountId);
    await ask(`/sites/${siteId}/stats`).expect(200);
    await ask(`/sites/${siteId}/stats`)
      .set({ Authorization: `Bearer ${token}` })
      .expect(401);
    const { key } = await shareSite(dashboard.pool, { siteId, name: "k", expiresAt: null });
    await read(key, "/stats").expect(404, missing);
    expect((await owner.get("/keys")).body.keys.map(({ name }: { name: string }) => name).sort()).toEqual([
      "k",
      "test",
    ]);
  });
});

describe("a link that is no link", () => {
  const ends: [string, (linkId: string, siteId: string) => Promise<unknown>][] = [
    ["revoked", (id) => dashboard.pool.query("UPDATE api_key SET revoked_at = now() WHERE id = $1", [id])],
    ["ended", (id) => dashboard.pool.query("UPDATE api_key SET expires_at = now() WHERE id = $1", [id])],
    ["of a deleted site", (_, siteId) => deleteSite(dashboard.pool as never, { siteId })],
    [
      "of a deleted account",
      (id) =>
        dashboard.pool.query("DELETE FROM account WHERE id = (SELECT account_id FROM api_key WHERE id = $1)", [id]),
    ],
  ];
  it.each(ends)("%s is the 404 of an unknown one within a second, on two processes", async (_, end) => {
    const { owner, siteId } = await open();
    const { id, token } = await shareLink(owner, siteId);
    for (const app of [dashboard.app, dashboard.secondApp]) await read(token, "/stats", app).expect(200);
    await end(id, siteId);
    await wait(1_000);
    const unknown = createApiKey("link").key;
    for (const app of [dashboard.app, dashboard.secondApp]) {
      for (const path of paths) {
        const [gone, never] = [await read(token, path, app), await read(unknown, path, app)];
        expect([gone.status, gone.body]).toEqual([404, missing]);
        expect([never.status, never.body]).toEqual([404, missing]);
      }
    }
    const [gone, never] = [await openPage(dashboard, token), await openPage(dashboard, unknown)];
    expect([gone.status, gone.text]).toEqual([404, never.text]);
    expect(gone.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  });

  it.each(["x", "wmk_link_00_x", "wmk_stats_00_x", "%00", "constructor"])(
    "%s is a 404, without a look-up",
    async (text) => {
      for (const path of ["", "/stats"]) await read(text, path).expect(404, missing);
      await openPage(dashboard, text).expect(404);
    },
  );

  it("of a day that is over is not made, nor one past a year, for others' things, or with a weak password", async () => {
    const [{ owner, siteId }, other] = [await open(), await open()];
    const refusals = [
      [{ lastDay: dayAfter(-1) }, { lastDay: "Must not be over" }],
      [{ lastDay: dayAfter(400) }, { lastDay: "Must be within 366 days" }],
      [{ lastDay: "soon" }, { lastDay: "Must be a day such as 2030-01-31" }],
      [{ password: "short" }, { password: "Must have at least 10 characters" }],
      [{ frameOrigins: ["*"] }, { frameOrigins: "Must be origins such as https://example.com" }],
      [
        { frameOrigins: ["https://a.example; script-src *"] },
        { frameOrigins: "Must be origins such as https://example.com" },
      ],
      [{ frameOrigins: ["https://a.example/path"] }, { frameOrigins: "Must be origins such as https://example.com" }],
      [
        { password, frameOrigins: ["https://a.example"] },
        { frameOrigins: "A link with a password cannot be shown in other pages" },
      ],
    ] as const;
    for (const [terms, fields] of refusals) {
      const { body, status } = await owner.post(`/sites/${siteId}/links`, { lastDay: dayAfter(7), ...terms });
      expect([status, body.fields]).toEqual([400, fields]);
    }
    await owner.post(`/sites/${other.siteId}/links`, { lastDay: dayAfter(7) }).expect(404);
    expect((await owner.get(`/sites/${siteId}/links`)).body.links).toEqual([]);
  });
});

describe("a link's page", () => {
  it("is framed by the listed origins alone, and other pages by none", async () => {
    const { owner, siteId } = await open();
    const framed = await shareLink(owner, siteId, { frameOrigins: ["https://Blog.example/", "http://localhost:8080"] });
    const plain = await shareLink(owner, siteId);
    const policyOf = async (token: string) => {
      const { headers } = await openPage(dashboard, token).expect(200).expect("X-Robots-Tag", "noindex, nofollow");
      return /frame-ancestors [^;]*/.exec(headers["content-security-policy"] ?? "")?.[0];
    };
    expect(await policyOf(framed.token)).toBe("frame-ancestors https://blog.example http://localhost:8080");
    expect(await policyOf(plain.token)).toBe("frame-ancestors 'none'");
    const data = await read(framed.token, "/stats").expect(200);
    expect(data.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect((await owner.get(`/sites/${siteId}/links`)).body.links).toMatchObject([
      { id: plain.id, frameOrigins: [], hasPassword: false },
      { id: framed.id, frameOrigins: ["https://blog.example", "http://localhost:8080"] },
    ]);
  });
});

describe("a link with a password", () => {
  async function guarded() {
    const { owner, siteId } = await open();
    return { owner, siteId, ...(await shareLink(owner, siteId, { password })) };
  }
  const give = (token: string, text: string) =>
    dashboard.anonymous().post(`/shared/${token}/password`, { password: text });
  const cookieOf = async (token: string) => {
    const given = await give(token, password).expect(200);
    const [cookie = ""] = given.get("Set-Cookie") ?? [];
    return { cookie, pair: cookie.split(";")[0] ?? "" };
  };

  it("shows nothing before it, and then to this browser alone", async () => {
    const { token } = await guarded();
    expect((await read(token).expect(200)).body).toEqual({ shows: "site", needsPassword: true });
    for (const path of paths.slice(1)) await read(token, path).expect(401, { error: "This link needs its password" });
    await give(token, "wrong horse battery").expect(401, { error: "Wrong password" });
    const { cookie, pair } = await cookieOf(token);
    expect(cookie).toMatch(
      /^waymark-shared=[\w-]{43}; Max-Age=86400; Path=\/dashboard\/api\/shared\/wmk_link_\w+; HttpOnly; SameSite=Strict$/,
    );
    await read(token, "/stats").set("Cookie", pair).expect(200);
    expect((await read(token).set("Cookie", pair)).body).toMatchObject({ needsPassword: false });
    await read(token, "/stats").expect(401);
  });

  it("takes no cookie of another link, and none after its end", async () => {
    const [one, two] = [await guarded(), await guarded()];
    const { pair } = await cookieOf(one.token);
    await read(two.token, "/stats").set("Cookie", pair).expect(401);
    for (const proof of ["x", "é".repeat(43)]) {
      await read(one.token, "/stats").set("Cookie", `waymark-shared=${proof}`).expect(401);
    }
    await one.owner.delete(`/links/${one.id}`).expect(200);
    await wait(1_000);
    await read(one.token, "/stats").set("Cookie", pair).expect(404, missing);
    await give(one.token, password).expect(404, missing);
  });

  it("is guessed thirty times a quarter of an hour at most, right or wrong, and the address of the link stays open", async () => {
    const { token } = await guarded();
    const outcomes = [];
    for (let n = 0; n < 32; n++) outcomes.push((await give(token, `wrong horse ${n}`)).status);
    const limited = outcomes.indexOf(429);
    expect(limited).toBeGreaterThan(0);
    expect(limited).toBeLessThanOrEqual(30);
    await give(token, password).expect(429);
    await read(token).expect(200);
  });
});

describe("links of an account", () => {
  it("are a hundred at most, and leave its keys room", async () => {
    const { owner, siteId, accountId } = await open();
    const share = { siteId, expiresAt: new Date(Date.now() + 86_400_000) };
    for (let n = 1; n < maxLinksPerAccount; n++)
      await issueKey(dashboard.pool, { accountId, service: "link", name: "l", share });
    await shareLink(owner, siteId);
    const { body } = await owner.post(`/sites/${siteId}/links`, { lastDay: dayAfter(7) }).expect(409);
    expect(body).toMatchObject({
      limit: 100,
      reason: "An account has at most 100 shared links. Revoke one that is not used.",
    });
    await owner.post("/keys", { name: "k", service: "trace" }).expect(201);
  });

  it("are revoked by their maker and by owners, and the record says so", async () => {
    const { owner, siteId, accountId, domain } = await open();
    const member = await dashboard.signIn(accountId, "member");
    const [his, hers] = [await shareLink(owner, siteId), await shareLink(member, siteId)];
    await member.delete(`/links/${his.id}`).expect(403);
    await member.delete(`/links/${hers.id}`).expect(200);
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    await stranger.delete(`/links/${his.id}`).expect(404, missing);
    await stranger.get(`/sites/${siteId}/links`).expect(404);
    await owner.delete(`/links/${his.id}`).expect(200);
    expect((await owner.get(`/sites/${siteId}/links`)).body).toEqual({ links: [] });
    const { body: audit } = await owner.get("/audit");
    expect(audit.entries.map(({ action, subject }: Record<string, string>) => [action, subject])).toEqual([
      ["link_revoked", domain],
      ["link_revoked", domain],
      ["link_shared", domain],
      ["link_shared", domain],
    ]);
  });
});
