import { describe, expect, it } from "@jest/globals";
import type { Mail } from "@waymark/alerts/mail";
import { useDashboard } from "../dashboard.fixture.js";

const dashboard = useDashboard({ env: { TRUSTED_PROXIES: "loopback" } });
const password = "correct horse battery";

let networks = 0;
/** A client at an address of its own. */
function client(address = `192.0.2.${++networks}`) {
  const { get, post } = dashboard.anonymous();
  return {
    get,
    post: (path: string, body: object) => post(path, body).set("X-Forwarded-For", address),
  };
}

const tokenOf = (mail: Mail | undefined) => /\/dashboard\/link\/([\w-]+)/.exec(mail?.text ?? "")?.[1] ?? "";
const cookieOf = (headers: Record<string, unknown>) => String(headers["set-cookie"]).split(";")[0] ?? "";

/** Signs up, proves the address, and returns the cookie of the session. */
async function signUp(email: string): Promise<string> {
  const asked = await client().post("/sign-up", { name: "Ada", email, password }).expect(202);
  const [mail] = await dashboard.takeMails();
  const { headers } = await client()
    .post("/link", { token: tokenOf(mail) })
    .set("Cookie", cookieOf(asked.headers))
    .expect(200);
  return cookieOf(headers);
}

const me = (cookie: string) => dashboard.anonymous().get("/me").set("Cookie", cookie);

describe("a sign-up", () => {
  it("makes a Free account with its owner when the mailed link is used, and not before", async () => {
    const asked = await client()
      .post("/sign-up", { name: " Ada ", email: "Ada@Example.com", password })
      .expect(202, { isMailed: true });
    const browser = cookieOf(asked.headers);
    const [mail] = await dashboard.takeMails();
    expect(mail).toMatchObject({ to: "ada@example.com", subject: "Confirm your address" });
    await client().post("/sign-in", { email: "ada@example.com", password }).expect(401);
    const token = tokenOf(mail);
    const { body: info } = await client().get(`/link?token=${token}`).set("Cookie", browser).expect(200);
    expect(info).toEqual({
      purpose: "verify",
      email: "ada@example.com",
      accountName: null,
      inviter: null,
      needsSignIn: false,
      needsName: false,
      needsPassword: false,
      needsCode: false,
    });
    const used = await client()
      .post("/link", { token })
      .set("Cookie", browser)
      .expect(200, { isSignedIn: true, purpose: "verify" });
    const { body } = await me(cookieOf(used.headers)).expect(200);
    expect(body).toMatchObject({
      person: { name: "Ada", email: "ada@example.com", hasPassword: true },
      account: { email: "ada@example.com", plan: "free" },
      role: "owner",
    });
    await client().post("/sign-in", { email: "ada@example.com", password }).expect(200, { isSignedIn: true });
  });

  it.each(["ops@intranet", "o'neil+x@sub.example.com", "a..b@example.com", "ü@example.com", "a!b@example.com"])(
    "takes %s only if it can sign in afterwards",
    async (email) => {
      const asked = await client().post("/sign-up", { name: "Ops", email, password });
      if (asked.status === 400) return expect(asked.body.fields).toEqual({ email: "Must be an email address" });
      const [mail] = await dashboard.takeMails();
      const use = client().post("/link", { token: tokenOf(mail) });
      await use.set("Cookie", cookieOf(asked.headers)).expect(200);
      await client().post("/sign-in", { email, password }).expect(200);
    },
  );

  it("answers the same for a known address, whose mail leads to the sign-in, and changes nothing", async () => {
    await signUp("known@example.com");
    const other = "another password";
    await client()
      .post("/sign-up", { name: "Eve", email: "known@example.com", password: other })
      .expect(202, { isMailed: true });
    const mails = await dashboard.takeMails();
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual([
      ["known@example.com", "You have an account already"],
    ]);
    await client().post("/sign-in", { email: "known@example.com", password: other }).expect(401);
  });

  it("of a stranger with the same address does not set the password of who proves it", async () => {
    const email = "twice@example.com";
    await client().post("/sign-up", { name: "Eve", email, password: "password of eve" }).expect(202);
    const [strangers] = await dashboard.takeMails();
    const asked = await client().post("/sign-up", { name: "Bob", email, password }).expect(202);
    const [own] = await dashboard.takeMails();
    await client()
      .post("/link", { token: tokenOf(own) })
      .set("Cookie", cookieOf(asked.headers))
      .expect(200);
    await client().post("/sign-in", { email, password: "password of eve" }).expect(401);
    await client()
      .post("/link", { token: tokenOf(strangers) })
      .expect(410);
  });

  it("of a stranger leaves no password behind when its own link is used: another browser chooses one", async () => {
    const email = "hijack@example.com";
    const asked = await client().post("/sign-up", { name: "Eve", email, password: "password of eve" }).expect(202);
    const eves = cookieOf(asked.headers);
    expect(String(asked.headers["set-cookie"])).toMatch(/; HttpOnly; SameSite=Lax$/);
    const [mail] = await dashboard.takeMails();
    const token = tokenOf(mail);
    expect(eves).not.toContain(token);
    const { body } = await client().get(`/link?token=${token}`).expect(200);
    expect(body).toMatchObject({ purpose: "verify", needsPassword: true });
    await client()
      .post("/link", { token })
      .expect(400, { error: "Validation failed", fields: { password: "Required" } });
    await client().post("/link", { token, password }).expect(200);
    await client().post("/sign-in", { email, password: "password of eve" }).expect(401);
    await client().post("/sign-in", { email, password }).expect(200);
  });

  it("joins an account that a command made for the address, but never one with people", async () => {
    const made = await dashboard.makeAccount();
    const { rows } = await dashboard.pool.query("SELECT email FROM account WHERE id = $1", [made]);
    const cookie = await signUp(rows[0].email);
    expect((await me(cookie)).body).toMatchObject({ account: { id: made }, role: "owner" });

    const taken = await dashboard.makeAccount();
    await dashboard.signIn(taken);
    const { rows: others } = await dashboard.pool.query("SELECT email FROM account WHERE id = $1", [taken]);
    await client().post("/sign-up", { name: "Eve", email: others[0].email, password }).expect(202);
    const [mail] = await dashboard.takeMails();
    const refused = await client()
      .post("/link", { token: tokenOf(mail), password })
      .expect(409);
    expect(refused.body.error).toMatch(/^Another account has this address/);
  });

  it("names wrong fields with 400, and a common or short password", async () => {
    const wrong = await client().post("/sign-up", { name: " ", email: "x", password }).expect(400);
    expect(Object.keys(wrong.body.fields).sort()).toEqual(["email", "name"]);
    for (const bad of ["short", "Password123", "a".repeat(201)]) {
      const { body } = await client()
        .post("/sign-up", { name: "A", email: "a@example.com", password: bad })
        .expect(400);
      expect(Object.keys(body.fields)).toEqual(["password"]);
    }
  });
});

describe("a sign-in", () => {
  it("sets a cookie for scripts out of reach, and ends the browser's session before", async () => {
    const before = await signUp("cookie@example.com");
    const answer = await client()
      .post("/sign-in", { email: "COOKIE@example.com", password })
      .set("Cookie", before)
      .expect(200);
    expect(String(answer.headers["set-cookie"])).toMatch(
      /^waymark=[0-9a-f]{2}\.[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    await me(cookieOf(answer.headers)).expect(200);
    const { rows } = await dashboard.pool.query(
      "SELECT FROM session s JOIN person p ON p.id = s.person_id WHERE p.email = 'cookie@example.com'",
    );
    expect(rows).toHaveLength(1);
  });

  it("takes over no session that somebody planted in the browser: neither a made-up token nor an attacker's own", async () => {
    const attacker = await signUp("mallory@example.com");
    await signUp("victim-of-fixation@example.com");
    for (const planted of [`waymark=${"A".repeat(43)}`, attacker]) {
      const body = { email: "victim-of-fixation@example.com", password };
      const answer = await client().post("/sign-in", body).set("Cookie", planted).expect(200);
      const own = cookieOf(answer.headers);
      expect(own).not.toBe(planted);
      expect((await me(own).expect(200)).body.person.email).toBe("victim-of-fixation@example.com");
      await me(planted).expect(401);
    }
  });

  it("answers the same for an unknown address and a wrong password", async () => {
    await signUp("exists@example.com");
    const answers = await Promise.all(
      ["exists@example.com", "nobody@example.com"].map((email) =>
        client().post("/sign-in", { email, password: "wrong horse battery" }),
      ),
    );
    for (const { status, body } of answers) expect([status, body]).toEqual([401, { error: "Wrong email or password" }]);
  });

  it("after ten wrong tries from anywhere a right password gets a mailed link, with the answer of a wrong one", async () => {
    const email = "target@example.com";
    await signUp(email);
    for (let n = 0; n < 10; n++)
      await client().post("/sign-in", { email, password: "wrong horse battery" }).expect(401);
    await client().post("/sign-in", { email, password: "wrong horse battery" }).expect(202, { isSignedIn: false });
    expect(await dashboard.takeMails()).toEqual([]);
    const answer = await client().post("/sign-in", { email, password }).expect(202, { isSignedIn: false });
    expect(answer.headers["set-cookie"]).toBeUndefined();
    const [mail] = await dashboard.takeMails();
    expect(mail).toMatchObject({ to: email, subject: "Finish signing in" });
    const used = await client()
      .post("/link", { token: tokenOf(mail) })
      .expect(200);
    await me(cookieOf(used.headers)).expect(200);
  });

  it("of the right password uses no try up", async () => {
    await signUp("often@example.com");
    const same = client();
    for (let n = 0; n < 35; n++) await same.post("/sign-in", { email: "often@example.com", password }).expect(200);
  });

  it("is refused after thirty wrong tries from one network, whatever the client writes left of the proxy's entry", async () => {
    const guess = (n: number, address: string) =>
      client(address).post("/sign-in", { email: `guess-${n}@example.com`, password: "wrong horse battery" });
    for (let n = 0; n < 30; n++) await guess(n, `203.0.113.${n}, 2001:db8:7:1::${n}`).expect(401);
    const refused = await guess(30, "203.0.113.99, 2001:db8:7:1:ffff::1").expect(429);
    expect(refused.body).toMatchObject({ error: "Rate limit exceeded" });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    await guess(31, "2001:db8:7:2::1").expect(401);
  });
});

describe("a forgotten password", () => {
  it("answers the same for known and unknown addresses; the link sets a password, ends the sessions, and works once", async () => {
    const email = "forgot@example.com";
    const before = await signUp(email);
    await client().post("/forgot", { email }).expect(202, { isMailed: true });
    await client().post("/forgot", { email: "nobody@example.com" }).expect(202, { isMailed: true });
    const mails = await dashboard.takeMails();
    expect(mails.map(({ to }) => to)).toEqual([email]);
    const token = tokenOf(mails[0]);
    expect((await client().get(`/link?token=${token}`).expect(200)).body).toMatchObject({
      purpose: "reset",
      needsPassword: true,
      needsCode: false,
    });
    const missing = await client().post("/link", { token }).expect(400);
    expect(missing.body.fields).toEqual({ password: "Required" });
    const fresh = "a fresh password";
    const used = await client().post("/link", { token, password: fresh }).expect(200);
    await me(cookieOf(used.headers)).expect(200);
    for (let status = 200; status !== 401; ) status = (await me(before)).status;
    await client().post("/link", { token, password: fresh }).expect(410);
    await client().post("/sign-in", { email, password }).expect(401);
    await client().post("/sign-in", { email, password: fresh }).expect(200);
  });

  it("mails an address ten times in a quarter of an hour", async () => {
    const email = "flood@example.com";
    await signUp(email);
    for (let n = 0; n < 12; n++) await client().post("/forgot", { email }).expect(202);
    expect(await dashboard.takeMails()).toHaveLength(10);
  });
});

describe("a link", () => {
  it("is looked up 30 times by a network that knows none, since each look-up asks all cells; a known one is free", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    await owner.post("/people", { email: "linked@example.com", role: "member" }).expect(201);
    const token = tokenOf((await dashboard.takeMails())[0]);
    const look = (text: string) => client().get(`/link?token=${text}`).set("X-Forwarded-For", "198.51.100.7");
    for (let n = 0; n < 40; n++) await look(token).expect(200);
    for (let n = 0; n < 30; n++) await look("unknown").expect(410);
    await look("unknown").expect(429);
    await client().get("/link?token=unknown").set("X-Forwarded-For", "198.51.100.8").expect(410);
  });

  it("is answered 410 when unknown, malformed, expired or used by another request at the same time", async () => {
    for (const token of ["A".repeat(43), "x", "../../me"]) {
      await client()
        .get(`/link?token=${encodeURIComponent(token)}`)
        .expect(410);
      await client().post("/link", { token }).expect(410);
    }
    await client().post("/sign-up", { name: "Ada", email: "expired@example.com", password }).expect(202);
    const [mail] = await dashboard.takeMails();
    const token = tokenOf(mail);
    dashboard.setNow(new Date(Date.now() + 25 * 3_600_000));
    await client().post("/link", { token }).expect(410);
    dashboard.setNow(new Date());
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => (await client().post("/link", { token, password })).status),
    );
    expect(statuses.sort()).toEqual([200, 410, 410]);
  });

  it("is stored as a hash, and no session's row has the cookie's token", async () => {
    const cookie = await signUp("stolen@example.com");
    const { rows } = await dashboard.pool.query(
      `SELECT token, hash FROM session s, (SELECT encode(hash, 'hex') AS hash FROM one_time_link ORDER BY created_at DESC LIMIT 1) l
       WHERE person_id = (SELECT id FROM person WHERE email = 'stolen@example.com')`,
    );
    await me(`waymark=${rows[0].token}`).expect(401);
    expect(cookie).not.toContain(rows[0].token);
    await client().post("/link", { token: rows[0].hash }).expect(410);
  });
});

describe("a sign-out", () => {
  it("ends the session at once here, within a second elsewhere, and removes the cookie", async () => {
    const cookie = await signUp("leaving@example.com");
    const elsewhere = () => dashboard.anonymous(dashboard.secondApp).get("/me").set("Cookie", cookie);
    await elsewhere().expect(200);
    const answer = await client().post("/sign-out", {}).set("Cookie", cookie).expect(200);
    expect(String(answer.headers["set-cookie"])).toMatch(/^waymark=; Max-Age=0;/);
    await me(cookie).expect(401);
    for (let status = 200; status !== 401; ) status = (await elsewhere()).status;
    await client().post("/sign-out", {}).expect(200);
  });
});
