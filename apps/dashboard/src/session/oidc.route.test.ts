import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import { createLink, readViewer } from "@waymark/accounts/identity";
import { loadConfig } from "../config.js";
import { useDashboard } from "../dashboard.fixture.js";
import { openProvider } from "./provider.fixture.js";

const provider = await openProvider();
const env = { ...provider.env, DASHBOARD_URL: "http://localhost:4000", TRUSTED_PROXIES: "loopback" };
const dashboard = useDashboard({ env });
const closed = useDashboard({ env: { ...env, SIGN_UP: "invited" } });
afterAll(() => provider.close());

let people = 0;
beforeEach(() => {
  const n = ++people;
  const person = { sub: `sub-${n}`, email: `Person-${n}@Example.com`, email_verified: true, name: `Person ${n}` };
  Object.assign(provider, { person, claims: {}, isForger: false, isDown: false, isTerse: false });
});
const email = () => String(provider.person["email"]).toLowerCase();

interface Visit {
  at?: typeof dashboard;
  next?: string;
  cookies?: string;
}

/** A browser begins, and the provider leads it back. */
async function begin({ at = dashboard, next }: Visit = {}) {
  const query = next === undefined ? "" : `?${new URLSearchParams({ next })}`;
  const from = { "X-Forwarded-For": `198.51.${people}.1` };
  const start = await at.anonymous().get(`/oidc${query}`).set(from).expect(303);
  const kept = cookieOf(start, "waymark-provider");
  const back = await fetch(start.headers["location"] ?? "", { redirect: "manual" });
  const path = (back.headers.get("location") ?? "").replace("http://localhost:4000/dashboard/api", "");
  const finish = (cookie = kept, search = path) =>
    at
      .anonymous()
      .get(search)
      .set({ Cookie: cookie, ...from })
      .expect(303);
  return { start, kept, path, finish };
}

interface Answered {
  headers: Record<string, unknown>;
}

function cookieOf({ headers }: Answered, name: string): string {
  const set = [headers["set-cookie"] ?? []].flat() as string[];
  const found = set.map((cookie) => cookie.split(";")[0] ?? "").find((cookie) => cookie.startsWith(`${name}=`));
  return found?.endsWith("=") ? "" : (found ?? "");
}

async function enter(visit: Visit = {}) {
  const { finish, kept } = await begin(visit);
  const answer = await finish(visit.cookies === undefined ? kept : `${kept}; ${visit.cookies}`);
  return { location: String(answer.headers["location"]), session: cookieOf(answer, "waymark"), answer };
}

async function refused(answer: Answered, code: string) {
  expect(cookieOf(answer, "waymark")).toBe("");
  const { pathname, searchParams } = new URL(String(answer.headers["location"]), "http://x");
  expect([pathname, searchParams.get("refused")]).toEqual(["/dashboard/sign-in", code]);
}

const me = async (session: string, at = dashboard) =>
  (await at.anonymous().get("/me").set("Cookie", session).expect(200)).body;

describe("the sign-in by OpenID Connect", () => {
  it("makes a new person with an account of their own, without a password, and finds them again", async () => {
    const { location, session } = await enter({ next: "/dashboard/traces?status=error" });
    expect(location).toBe("/dashboard/traces?status=error");
    const { person, account, role } = await me(session);
    expect(person).toMatchObject({ email: email(), name: provider.person["name"], hasPassword: false });
    expect([account.email, role]).toEqual([email(), "owner"]);
    const { body } = await dashboard.anonymous().get("/audit").set("Cookie", session).expect(200);
    expect(body.entries.map(({ action, subject }: Record<string, string>) => [action, subject])).toEqual([
      ["factor_added", `identity at ${new URL(provider.issuer).host}`],
      ["person_joined", `${email()} (owner)`],
    ]);
    const again = await enter();
    expect([again.location, (await me(again.session)).person.id]).toEqual(["/dashboard/", person.id]);
  });

  it("reads the profile at the provider where the token has none", async () => {
    provider.isTerse = true;
    const { session } = await enter();
    expect((await me(session)).person.email).toBe(email());
  });

  it("takes a name that is an address for none", async () => {
    provider.person["name"] = "Win at https://evil.example";
    const { session } = await enter();
    expect((await me(session)).person.name).toBe(email());
  });

  it("joins a known person by the proven address, and asks for no code of theirs", async () => {
    const known = await dashboard.signIn(await dashboard.makeAccount());
    provider.person["email"] = known.email;
    await dashboard.pool.query("INSERT INTO totp (person_id, secret, confirmed_at) VALUES ($1, 'x', now())", [
      known.personId,
    ]);
    const { session } = await enter();
    const { person, account } = await me(session);
    expect([person.id, account.id]).toEqual([known.personId, known.accountId]);
  });

  it("follows the subject, not an address that changed to another person's", async () => {
    const first = await me((await enter()).session);
    const other = await dashboard.signIn(await dashboard.makeAccount());
    provider.person["email"] = other.email;
    const { person } = await me((await enter()).session);
    expect([person.id, person.email]).toEqual([first.person.id, first.person.email]);
    Object.assign(provider.person, { email: undefined, email_verified: false });
    expect((await me((await enter()).session)).person.id).toBe(first.person.id);
  });

  it("replaces the browser's session", async () => {
    const before = await dashboard.signIn(await dashboard.makeAccount());
    const { session } = await enter({ cookies: before.cookie });
    await before.get("/me").expect(401);
    expect((await me(session)).person.email).toBe(email());
  });

  it("joins two arrivals at once to one person", async () => {
    const [one, two] = [await begin(), await begin()];
    const answers = await Promise.all([one.finish(), two.finish()]);
    const found = await Promise.all(answers.map((answer) => me(cookieOf(answer, "waymark"))));
    expect(found[0].person.id).toBe(found[1].person.id);
  });

  it("lets an invited person in as invited, once, where sign-up is closed", async () => {
    const accountId = await closed.makeAccount();
    const invitation = { purpose: "invite", email: email(), accountId, role: "viewer", now: new Date() } as const;
    await createLink(closed.pool, invitation);
    const { account, role, accounts } = await me((await enter({ at: closed })).session, closed);
    expect([account.id, role, accounts.length]).toEqual([accountId, "viewer", 1]);
    const { rows } = await closed.pool.query("SELECT count(*)::int AS n FROM one_time_link WHERE used_at IS NULL");
    expect(rows[0].n).toBe(0);
  });

  it("leaves a known person's invitation to their click", async () => {
    const known = await dashboard.signIn(await dashboard.makeAccount());
    const accountId = await dashboard.makeAccount();
    provider.person["email"] = known.email;
    await createLink(dashboard.pool, {
      purpose: "invite",
      email: known.email,
      accountId,
      role: "owner",
      now: new Date(),
    });
    expect((await me((await enter()).session)).accounts).toHaveLength(1);
  });
});

describe("303 to the sign-in page without a session", () => {
  it("for a stranger where accounts are by invitation; an invitation's end counts", async () => {
    const accountId = await closed.makeAccount();
    const now = new Date(Date.now() - 8 * 86_400_000);
    await createLink(closed.pool, { purpose: "invite", email: email(), accountId, role: "owner", now });
    await refused((await enter({ at: closed })).answer, "closed");
    expect((await closed.pool.query("SELECT FROM person WHERE email = $1", [email()])).rowCount).toBe(0);
  });

  it.each([false, undefined, "true", 1])("for an address with email_verified %p", async (proven) => {
    const known = await dashboard.signIn(await dashboard.makeAccount());
    Object.assign(provider.person, { email: known.email, email_verified: proven });
    await refused((await enter()).answer, "unproven");
  });

  it("for another subject with the address of a person of the provider", async () => {
    const { person } = await me((await enter()).session);
    provider.person["sub"] = "somebody-else";
    await refused((await enter()).answer, "taken");
    const { rows } = await dashboard.pool.query("SELECT subject FROM credential WHERE person_id = $1", [person.id]);
    expect(rows).toHaveLength(1);
  });

  it("for the address of an account with other people", async () => {
    const accountId = await dashboard.makeAccount();
    await dashboard.signIn(accountId);
    await dashboard.pool.query("UPDATE account SET email = $2 WHERE id = $1", [accountId, email()]);
    await refused((await enter()).answer, "taken");
    expect((await dashboard.pool.query("SELECT FROM person WHERE email = $1", [email()])).rowCount).toBe(0);
  });

  it("for a state that is missing, wrong, another attempt's, or of another browser", async () => {
    const [mine, theirs] = [await begin(), await begin()];
    await refused(await mine.finish(mine.kept, theirs.path), "failed");
    await refused(await mine.finish(""), "failed");
    await refused(await mine.finish("waymark-provider=e30"), "failed");
    await refused(await mine.finish(mine.kept, mine.path.replace(/state=[^&]+/, "")), "failed");
    await refused(await mine.finish(mine.kept, mine.path.replace(/state=[^&]+/, "state=wrong")), "failed");
    await refused(await mine.finish(mine.kept, `${mine.path}&state=wrong`), "failed");
    expect((await mine.finish()).headers["location"]).toBe("/dashboard/");
  });

  it("for a state a second time, also with another code, at another instance, and after five minutes", async () => {
    const mine = await begin();
    expect(cookieOf(await mine.finish(), "waymark")).not.toBe("");
    await refused(await mine.finish(), "failed");
    const code = (await begin()).path.match(/code=([^&]+)/)?.[1] ?? "";
    await refused(await mine.finish(mine.kept, mine.path.replace(/code=[^&]+/, `code=${code}`)), "failed");
    const old = await begin();
    dashboard.setNow(new Date(Date.now() + 301_000));
    await refused(await old.finish(), "failed");
    dashboard.setNow(new Date());
  });

  it("for a code that another attempt used", async () => {
    const [one, two] = [await begin(), await begin()];
    const code = one.path.match(/code=([^&]+)/)?.[1] ?? "";
    expect(cookieOf(await one.finish(), "waymark")).not.toBe("");
    await refused(await two.finish(two.kept, two.path.replace(/code=[^&]+/, `code=${code}`)), "failed");
  });

  const past = Math.floor(Date.now() / 1_000) - 3_600;
  it.each([
    ["another nonce", { nonce: "another" }],
    ["no nonce", { nonce: undefined }],
    ["another issuer", { iss: "https://evil.example" }],
    ["another audience", { aud: "another" }],
    ["two audiences and another party", { aud: ["waymark", "another"], azp: "another" }],
    ["an expired token", { exp: past, iat: past - 300 }],
    ["no subject", { sub: undefined }],
    ["an endless subject", { sub: "s".repeat(256) }],
  ])("for %s", async (_what, claims) => {
    provider.claims = claims;
    await refused((await enter()).answer, "failed");
  });

  it("for a token signed with another key", async () => {
    provider.isForger = true;
    await refused((await enter()).answer, "failed");
  });

  it("for a person who declines", async () => {
    const { finish, kept, path } = await begin();
    await refused(await finish(kept, path.replace(/code=[^&]+/, "error=access_denied")), "failed");
  });
});

describe("roles by a claim", () => {
  const at = useDashboard({ env: { ...env, OIDC_ISSUER: `${provider.issuer} waymark_role`, SIGN_UP: "invited" } });
  const claim = (waymark_role: unknown) => Object.assign(provider.person, { waymark_role });
  const invite = async (accountId: string) =>
    createLink(at.pool, { purpose: "invite", email: email(), accountId, role: "member", now: new Date() });
  const roleNow = async () => (await me((await enter({ at })).session, at)).role;

  it("decide at each sign-in, above an invitation, from the token or the profile, and are recorded", async () => {
    const owner = await at.signIn(await at.makeAccount());
    await invite(owner.accountId);
    claim("viewer");
    expect(await roleNow()).toBe("viewer");
    claim(["offline_access", "owner"]);
    expect(await roleNow()).toBe("owner");
    provider.isTerse = true;
    claim("member");
    expect([await roleNow(), await roleNow()]).toEqual(["member", "member"]);
    const { entries } = (await owner.get("/audit").expect(200)).body;
    const changes = entries.filter(({ action }: Record<string, string>) => action === "role_changed");
    const subjects = ["member", "owner"].map((role) => `${email()} (${role})`);
    expect(changes).toMatchObject(subjects.map((subject) => ({ subject, person: null })));
  });

  it("hold in a known person's first account, and in none that invited them otherwise", async () => {
    const owner = await at.signIn(await at.makeAccount());
    const known = await at.signIn(owner.accountId, "member");
    const other = await at.signIn(await at.makeAccount());
    const join = "INSERT INTO membership (account_id, person_id, role) VALUES ($1, $2, 'viewer')";
    await at.pool.query(join, [other.accountId, known.personId]);
    Object.assign(provider.person, { email: known.email, waymark_role: "owner" });
    for (const _ of ["linked", "found again"]) {
      const { accounts } = await me((await enter({ at })).session, at);
      const held = new Map(accounts.map(({ id, role }: Record<string, string>) => [id, role]));
      expect([held.get(owner.accountId), held.get(other.accountId)]).toEqual(["owner", "viewer"]);
    }
  });

  it("leave an account its last owner, also of two who are demoted at once", async () => {
    const accountId = await at.makeAccount();
    const founder = await at.signIn(accountId);
    const [role, verified] = [{ waymark_role: "owner" }, { email_verified: true }];
    const persons = ["one", "two"].map((sub) => ({ sub, email: `${sub}@x.example`, ...verified, ...role }));
    for (const person of persons) {
      provider.person = person;
      await invite(accountId);
      await enter({ at });
    }
    await at.pool.query("DELETE FROM membership WHERE person_id = $1", [founder.personId]);
    const count = "SELECT array_agg(role ORDER BY role) AS roles FROM membership WHERE account_id = $1";
    for (let round = 0; round < 5; round++) {
      const begun = [];
      for (const person of persons) {
        provider.person = { ...person, waymark_role: "viewer" };
        begun.push(await begin({ at }));
      }
      const answers = await Promise.all(begun.map(({ finish }) => finish()));
      expect(answers.every((answer) => cookieOf(answer, "waymark") !== "")).toBe(true);
      expect((await at.pool.query(count, [accountId])).rows[0].roles).toEqual(["owner", "viewer"]);
      await at.pool.query("UPDATE membership SET role = 'owner' WHERE account_id = $1", [accountId]);
    }
  });

  it.each([[undefined], ["Owner"], [""], [["member", "viewer"]], [{ owner: true }], ["owner viewer"]])(
    "refuse %j, also somebody known",
    async (value) => {
      await invite((await at.signIn(await at.makeAccount())).accountId);
      claim(value);
      await refused((await enter({ at })).answer, "no_role");
      claim("viewer");
      expect(await roleNow()).toBe("viewer");
      claim(value);
      await refused((await enter({ at })).answer, "no_role");
    },
  );
});

describe("the way to the provider", () => {
  it.each([
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "/dashboard/../..//evil.example",
    "javascript:1",
  ])("leads back here for next=%s", async (next) => {
    expect((await enter({ next })).location).toBe("/dashboard/");
  });

  it("keeps a next of 1,000 characters, leaves a longer one, and answers 400 above 2,000", async () => {
    const next = (length: number) => "/dashboard/".padEnd(length, "n");
    expect((await enter({ next: next(1_000) })).location).toBe(next(1_000));
    expect((await enter({ next: next(1_001) })).location).toBe("/dashboard/");
    const { body } = await dashboard
      .anonymous()
      .get(`/oidc?next=${next(2_001)}`)
      .expect(400);
    expect(Object.keys(body.fields)).toEqual(["next"]);
  });

  it("sends a challenge, and keeps its cookie from scripts for five minutes", async () => {
    const { start } = await begin();
    const sent = new URL(start.headers["location"] ?? "").searchParams;
    expect(sent.get("redirect_uri")).toBe("http://localhost:4000/dashboard/api/oidc/callback");
    expect([sent.get("code_challenge_method"), sent.get("response_type")]).toEqual(["S256", "code"]);
    expect(String(start.headers["set-cookie"])).toMatch(/; Max-Age=300; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  it("counts thirty attempts of a network; a sign-in gives its own back", async () => {
    await enter();
    for (let n = 0; n < 30; n++) await begin();
    await dashboard.anonymous().get("/oidc").set("X-Forwarded-For", `198.51.${people}.1`).expect(429);
  });
});

describe("a provider that is away", () => {
  const own = useDashboard({ env });
  it("leads to the sign-in page, leaves passwords, and is asked again", async () => {
    provider.isDown = true;
    const away = await own.anonymous().get("/oidc?next=/dashboard/costs").expect(303);
    expect(away.headers["location"]).toBe("/dashboard/sign-in?refused=away&next=%2Fdashboard%2Fcosts");
    const person = await own.signIn(await own.makeAccount());
    await own.anonymous().post("/sign-in", { email: person.email, password: "wrong" }).expect(401);
    await own
      .anonymous()
      .get("/sign-in")
      .expect(200, { signUp: "open", provider: new URL(provider.issuer).host });
    provider.isDown = false;
    const { session } = await enter({ at: own });
    const viewer = await readViewer(own.pool, { personId: person.personId, accountId: person.accountId });
    expect([viewer?.accounts.length, (await me(session, own)).person.email]).toEqual([1, email()]);
    provider.asked.length = 0;
    await enter({ at: own });
    expect(provider.asked).not.toContain("/.well-known/openid-configuration");
  });

  it("answers 404 where none is set", async () => {
    await without.anonymous().get("/oidc").expect(404);
    await without.anonymous().get("/oidc/callback?code=x&state=y").expect(404);
    await without.anonymous().get("/sign-in").expect(200, { signUp: "open" });
  });
});
const without = useDashboard();

describe("the settings", () => {
  const load = (given: object) => () => loadConfig({ DATABASE_URL: "postgres://h/d", ...given });
  it("are all there or none, https but on the loopback, and not beside other cells", () => {
    expect(load(provider.env)().oidc?.clientId).toBe("waymark");
    expect(load({ OIDC_ISSUER: "" })().oidc).toBeUndefined();
    expect(load({ OIDC_CLIENT_ID: "waymark" })).toThrow(/OIDC_ISSUER must be set.*OIDC_CLIENT_SECRET must be set/s);
    expect(load({ ...provider.env, OIDC_ISSUER: "http://accounts.example.com" })).toThrow("OIDC_ISSUER must be https");
    expect(load({ ...provider.env, OIDC_ISSUER: "https://accounts.example.com" })().oidc?.issuer.protocol).toBe(
      "https:",
    );
    expect(load({ ...provider.env, OIDC_ISSUER: "https://a.example.com  role " })().oidc?.roleClaim).toBe("role");
    expect(load({ ...provider.env, OIDC_ISSUER: "https://a.example.com role s" })).toThrow("the claim of roles");
    expect(load({ ...provider.env, CELL_DASHBOARDS: "http://10.0.0.2:4000" })).toThrow("beside CELL_DASHBOARDS");
  });
});
