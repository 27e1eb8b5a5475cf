import { describe, expect, it } from "@jest/globals";
import { createLinkIfFew, type Passwords, setPassword, startSession } from "@waymark/accounts/identity";
import request from "supertest";
import { useDashboard } from "../dashboard.fixture.js";

const dashboard = useDashboard();
const password = "correct horse battery";

describe("a request of another site", () => {
  const post = (path = "/dashboard/api/sign-out") => request(dashboard.app).post(path);
  const origin = "http://localhost:4000";

  it.each([
    ["a cross-site form", { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" }],
    ["a page of a sibling domain", { "Sec-Fetch-Site": "same-site", Origin: "http://evil.localhost:4000" }],
    ["a foreign page that claims our origin", { "Sec-Fetch-Site": "cross-site", Origin: origin }],
    ["a typed address", { "Sec-Fetch-Site": "none" }],
    ["an old browser on another site", { Origin: "https://evil.example" }],
    ["a sandboxed frame", { Origin: "null" }],
    ["an origin that begins like ours", { Origin: `${origin}.evil.example` }],
    ["a program without an origin", {}],
  ])("by %s is refused with 403", async (_name, headers) => {
    const { body } = await post().set(headers).send({}).expect(403);
    expect(body).toEqual({ error: "Request from another site" });
  });

  it("is refused before its body is read, and signs nobody out", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    await post().set({ Origin: "https://evil.example", Cookie: person.cookie }).send("{").expect(403);
    await person.get("/me").expect(200);
  });

  it.each(["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""])(
    "with a body of type '%s' is refused with 403",
    async (type) => {
      const sent = post("/dashboard/api/sign-in").set("Origin", origin);
      const typed = type === "" ? sent.unset("Content-Type") : sent.set("Content-Type", type);
      await typed.send('{"email":"a@example.com"}').expect(403);
    },
  );

  it("of our own page passes, by either header", async () => {
    await post().set("Origin", origin).send({}).expect(200);
    await post().set("Sec-Fetch-Site", "same-origin").send({}).expect(200);
  });
});

describe("a guessed address of a client", () => {
  it("counts for nothing without a trusted proxy: thirty wrong tries end the network's tries", async () => {
    const guess = (n: number) =>
      dashboard
        .anonymous()
        .post("/sign-in", { email: `spoof-${n}@example.com`, password })
        .set("X-Forwarded-For", `198.51.100.${n}`);
    for (let n = 0; n < 30; n++) await guess(n).expect(401);
    await guess(30).expect(429);
    await guess(31).expect(429);
  });
});

describe("a customer with 65,536 networks of IPv6", () => {
  const proxied = useDashboard({ env: { TRUSTED_PROXIES: "loopback" } });

  it("has ten times a network's tries over all of them", async () => {
    const guess = (address: string) =>
      proxied
        .anonymous()
        .post("/sign-in", { email: `${address.replaceAll(":", "-")}@example.com`, password })
        .set("X-Forwarded-For", address);
    for (let n = 0; n < 4; n++) await guess(`2001:db8:5:${n}::1`).expect(401);
    const { rowCount } = await proxied.pool.query(
      "UPDATE rate_limit SET points = points + 295 WHERE key LIKE '%guess-wide-network%' AND points = 4",
    );
    expect(rowCount).toBe(1);
    await guess("2001:db8:5:4::1").expect(401);
    await guess("2001:db8:5:5::1").expect(429);
    await guess("2001:db8:6::1").expect(401);
  });
});

describe("a client that has the right password", () => {
  const asked: string[] = [];
  const passwords: Passwords = {
    hash: async (_password, network) => {
      asked.push(network);
      return "scrypt$1024$8$1$c2FsdA$c2FsdA";
    },
    verify: async (_stored, _password, network) => asked.push(network) > 0,
  };
  const proxied = useDashboard({ env: { TRUSTED_PROXIES: "loopback" }, deps: { passwords } });

  it("takes turns with its own network alone: every hash is its client's", async () => {
    const person = await proxied.signIn(await proxied.makeAccount());
    const from = (test: request.Test, address: string) => test.set("X-Forwarded-For", address);
    const { email, cookie } = person;
    const set = await from(person.post("/me/password", { password }), "2001:db8:1:1::1").expect(200);
    const again = { current: password, password: "another horse battery" };
    const own = String(set.headers["set-cookie"]).split(";")[0] ?? cookie;
    await from(proxied.anonymous().post("/me/password", again).set("Cookie", own), "2001:db8:1:2::1").expect(200);
    await from(proxied.anonymous().post("/sign-in", { email, password }), "192.0.2.1").expect(200);
    await from(proxied.anonymous().post("/sign-in", { email: "no@example.com", password }), "192.0.2.2").expect(401);
    const signUp = { email: "new@example.com", name: "Ada", password };
    await from(proxied.anonymous().post("/sign-up", signUp), "192.0.2.3").expect(202);
    const [mail] = await proxied.takeMails();
    const token = /link\/([\w-]+)/.exec(mail?.text ?? "")?.[1] ?? "";
    await from(proxied.anonymous().post("/link", { token, password }), "192.0.2.4").expect(200);
    const ipv6 = "2001:db8:1::/48";
    expect(asked).toEqual([ipv6, ipv6, ipv6, "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]);
  });
});

describe("the work for an address", () => {
  let hashes = 0;
  const passwords = {
    hash: async () => `scrypt$1024$8$1$c2FsdA$${++hashes}`,
    verify: async () => ++hashes < 0,
  };
  const allowance = { network: "", isAllowed: true, retryAfterSeconds: 0, refund: async () => undefined };
  const counting = useDashboard({
    deps: { passwords, guesses: { admit: async () => allowance, networkOf: () => "", refund: async () => undefined } },
  });

  it("is the same for known and unknown ones, at sign-in, sign-up and a forgotten password", async () => {
    const person = await counting.signIn(await counting.makeAccount());
    await setPassword(counting.pool, person.personId, await passwords.hash());
    hashes = 0;
    const outcomes = [];
    for (const email of [person.email, "nobody@example.com"]) {
      for (const path of ["/sign-in", "/sign-up", "/forgot"]) {
        const more = { "/sign-in": { password }, "/sign-up": { password, name: "Ada" }, "/forgot": {} }[path];
        const { status, body, headers } = await counting.anonymous().post(path, { email, ...more });
        outcomes.push({ path, status, body, names: Object.keys(headers).sort(), hashes });
        hashes = 0;
      }
    }
    expect(outcomes.slice(3)).toEqual(outcomes.slice(0, 3));
    expect(outcomes.map((outcome) => outcome.hashes)).toEqual([1, 1, 0, 1, 1, 0]);
    expect(outcomes.map(({ status }) => status)).toEqual([401, 202, 202, 401, 202, 202]);
  });
});

describe("a flood from many networks", () => {
  const proxied = useDashboard({ env: { TRUSTED_PROXIES: "loopback" } });
  let networks = 0;
  const flood = async (path: string, body: object, times: number) => {
    for (let n = 0; n < times; n++) {
      // Each mail's window is over, as after hours.
      await proxied.pool.query("TRUNCATE rate_limit");
      const sent = proxied.anonymous().post(path, body);
      await sent.set("X-Forwarded-For", `192.0.2.${++networks}`).expect(202);
    }
    return (await proxied.takeMails()).length;
  };

  it("mails an address no more links while ten of them work", async () => {
    const person = await proxied.signIn(await proxied.makeAccount());
    expect(await flood("/forgot", { email: person.email }, 12)).toBe(10);
    expect(await flood("/sign-up", { email: "victim@example.com", name: "Eve", password }, 12)).toBe(10);
  });

  it("makes an address no more links that are asked for at once", async () => {
    const link = { purpose: "reset", email: "crowd@example.com", now: new Date() } as const;
    const made = await Promise.all(Array.from({ length: 30 }, () => createLinkIfFew(proxied.pool, link)));
    expect(made.filter((each) => each !== undefined)).toHaveLength(10);
  });

  it("mails no more than ten links of the right password after too many tries", async () => {
    const person = await proxied.signIn(await proxied.makeAccount());
    await person.post("/me/password", { password }).expect(200);
    const guess = (word: string) =>
      proxied
        .anonymous()
        .post("/sign-in", { email: person.email, password: word })
        .set("X-Forwarded-For", `192.0.2.${++networks}`);
    for (let n = 0; n < 10; n++) await guess("wrong horse battery").expect(401);
    for (let n = 0; n < 12; n++) await guess(password).expect(202);
    expect(await proxied.takeMails()).toHaveLength(10);
  });

  it("tells an address ten times a day that it has an account already", async () => {
    const person = await proxied.signIn(await proxied.makeAccount());
    let mails = 0;
    for (let n = 0; n < 12; n++) {
      // The quarters of an hour pass, the day does not.
      await proxied.pool.query("DELETE FROM rate_limit WHERE key LIKE '%guess%'");
      const sent = proxied.anonymous().post("/sign-up", { email: person.email, name: "Eve", password });
      await sent.set("X-Forwarded-For", `192.0.2.${++networks}`).expect(202);
      mails += (await proxied.takeMails()).length;
    }
    expect(mails).toBe(10);
  });

  it("of invitations mails an address ten times a day over all accounts, twenty of an account an hour, a hundred a day", async () => {
    const owners = [
      await proxied.signIn(await proxied.makeAccount()),
      await proxied.signIn(await proxied.makeAccount()),
    ];
    const invite = async (owner = owners[0], email = "invited@example.com") =>
      (await owner?.post("/people", { email, role: "member" }))?.status;
    for (let n = 0; n < 10; n++) expect(await invite(owners[n % 2])).toBe(201);
    const before = await owners[0]?.get("/people");
    expect([await invite(owners[0]), await invite(owners[1])]).toEqual([429, 429]);
    expect((await owners[0]?.get("/people"))?.body).toEqual(before?.body);
    expect(await proxied.takeMails()).toHaveLength(10);
    for (const [limit, used] of [
      ["mail-hour", 19],
      ["mail-account", 99],
    ] as const) {
      const owner = await proxied.signIn(await proxied.makeAccount());
      expect(await invite(owner, `before-${limit}@example.com`)).toBe(201);
      await proxied.pool.query("UPDATE rate_limit SET points = $2 WHERE key LIKE '%' || $1 || '%'", [limit, used]);
      expect(await invite(owner, `last-${limit}@example.com`)).toBe(201);
      expect(await invite(owner, `further-${limit}@example.com`)).toBe(429);
    }
  });

  it("of invitations mails five of an account in its first day", async () => {
    const accountId = await proxied.makeAccount();
    await proxied.pool.query("UPDATE account SET created_at = now() WHERE id = $1", [accountId]);
    const owner = await proxied.signIn(accountId);
    await proxied.takeMails();
    for (let n = 0; n < 6; n++) {
      const { status } = await owner.post("/people", { email: `young-${n}@example.com`, role: "member" });
      expect([n, status]).toEqual([n, n < 5 ? 201 : 429]);
    }
    expect(await proxied.takeMails()).toHaveLength(5);
  });

  it("of sign-ins leaves a person's hundred latest sessions", async () => {
    const person = await proxied.signIn(await proxied.makeAccount());
    const session = { personId: person.personId, accountId: person.accountId, now: new Date() };
    let token = "";
    for (let n = 0; n < 105; n++) token = await startSession(proxied.pool, session);
    const count = "SELECT count(*)::int AS sessions FROM session WHERE person_id = $1";
    const { rows } = await proxied.pool.query(count, [person.personId]);
    expect(rows).toEqual([{ sessions: 100 }]);
    await proxied.anonymous().get("/me").set("Cookie", `waymark=${token}`).expect(200);
  });
});

describe("a changed password", () => {
  it("ends the links that were mailed before", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    await dashboard.anonymous().post("/forgot", { email: person.email }).expect(202);
    const [mail] = await dashboard.takeMails();
    const token = /link\/([\w-]+)/.exec(mail?.text ?? "")?.[1] ?? "";
    await dashboard.anonymous().get(`/link?token=${token}`).expect(200);
    await person.post("/me/password", { password }).expect(200);
    await dashboard.anonymous().get(`/link?token=${token}`).expect(410);
  });
});

describe("what leaves the dashboard", () => {
  it("is kept from caches, frames, foreign scripts and other origins' pages", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    const { headers } = await person.get("/me").expect(200);
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
    });
    for (const path of ["/traces/none", "/link?token=none", "/nowhere"]) {
      const refused = await person.get(path);
      expect([refused.ok, refused.headers["cache-control"]]).toEqual([false, "no-store"]);
    }
    const policy = String(headers["content-security-policy"]);
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toMatch(/unsafe|\*/);
  });
});

describe("on https", () => {
  const secure = useDashboard({ env: { DASHBOARD_URL: "https://waymark.example" } });

  it("the cookie is the host's alone, and a browser without it is not signed in", async () => {
    const person = await secure.signIn(await secure.makeAccount());
    expect(person.cookie).toMatch(/^__Host-waymark=/);
    const { headers } = await person.post("/me/password", { password }).expect(200);
    expect(String(headers["set-cookie"])).toMatch(
      /^__Host-waymark=[0-9a-f]{2}\.[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(headers["strict-transport-security"]).toBe("max-age=31536000");
    const [, token = ""] = String(headers["set-cookie"]).split(/[=;]/);
    await secure.anonymous().get("/me").set("Cookie", `waymark=${token}`).expect(401);
    await secure.anonymous().get("/me").set("Cookie", `__Host-waymark=${token}`).expect(200);
  });
});

describe("with SIGN_UP=invited", () => {
  const closed = useDashboard({ env: { SIGN_UP: "invited" } });

  it("nobody makes an account, and the pages know", async () => {
    await closed.anonymous().get("/sign-in").expect(200, { signUp: "invited" });
    const body = { name: "Ada", email: "ada@example.com", password };
    await closed.anonymous().post("/sign-up", body).expect(403, { error: "Accounts are by invitation here" });
    expect(await closed.takeMails()).toEqual([]);
  });
});
