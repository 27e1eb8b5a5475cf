import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { codeOf, cookieOf, password, turnOn } from "./codes.fixture.js";

const dashboard = useDashboard({ env: { TRUSTED_PROXIES: "loopback" } });
const wrong = { error: "Validation failed", fields: { code: "Is wrong, or was used" } };

let networks = 0;
const post = (path: string, body: object) =>
  dashboard.anonymous().post(path, body).set("X-Forwarded-For", `192.0.2.${++networks}`);

/** The clock stands still at the beginning of a step, and moves by steps of 30 seconds. */
let now = new Date(Math.floor(Date.now() / 30_000) * 30_000);
dashboard.setNow(now);
const wait = (steps: number) => {
  now = new Date(now.getTime() + steps * 30_000);
  dashboard.setNow(now);
};

async function withCodes() {
  const person = await dashboard.signIn(await dashboard.makeAccount(), "viewer");
  const codes = await turnOn(dashboard, person, now);
  wait(1);
  const signIn = (code?: string) => post("/sign-in", { email: person.email, password, ...(code && { code }) });
  return { person, ...codes, signIn };
}

describe("a code", () => {
  it("is that of RFC 6238", () => {
    expect(codeOf("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", new Date(59_000))).toBe("287082");
    expect(codeOf("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", new Date(20_000_000_000_000))).toBe("353130");
  });

  it("is asked for after a right password alone, and takes the place of nothing", async () => {
    const { person, signIn, secret } = await withCodes();
    const asked = await signIn().expect(200, { isSignedIn: false, needsCode: true });
    expect(asked.headers).not.toHaveProperty("set-cookie");
    const { email } = person;
    const code = codeOf(secret, now);
    for (const body of [
      { email, password: "another horse battery" },
      { email: "nobody@example.com", password, code },
    ]) {
      await post("/sign-in", body).expect(401, { error: "Wrong email or password" });
    }
    await signIn("000000").expect(400, wrong);
    await signIn("x".repeat(41)).expect(400);
    const { headers } = await signIn(code).expect(200, { isSignedIn: true });
    await dashboard.anonymous().get("/me").set("Cookie", cookieOf(headers)).expect(200);
  });

  it("is good for its step and those beside it, and only once, with all before it", async () => {
    const { signIn, secret } = await withCodes();
    wait(5);
    await signIn(codeOf(secret, now, -2)).expect(400, wrong);
    await signIn(codeOf(secret, now, 2)).expect(400, wrong);
    await signIn(codeOf(secret, now, -1)).expect(200);
    await signIn(codeOf(secret, now, -1)).expect(400, wrong);
    await signIn(codeOf(secret, now, 1)).expect(200);
    await signIn(codeOf(secret, now)).expect(400, wrong);
    wait(2);
    const code = codeOf(secret, now);
    const both = await Promise.all([signIn(code), signIn(`${code.slice(0, 3)} ${code.slice(3)}`)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  it("that turned codes on does not also sign in, and the session of before goes on", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    const { as, secret } = await turnOn(dashboard, person, now);
    await as("get", "/me").expect(200);
    await post("/sign-in", { email: person.email, password, code: codeOf(secret, now) }).expect(400, wrong);
    wait(1);
  });

  it("is guessed ten times in a quarter of an hour, from any network, and no more", async () => {
    const { signIn, secret } = await withCodes();
    const statuses = [];
    for (let n = 0; n < 11; n++) statuses.push((await signIn("000000")).status);
    expect(statuses).toEqual([...Array(10).fill(400), 202]);
    await signIn(codeOf(secret, now)).expect(202, { isSignedIn: false });
  });
});

describe("a day", () => {
  it("has fifty guesses of a person, though the quarters of an hour begin anew", async () => {
    const { signIn, secret, recoveryCodes } = await withCodes();
    for (let quarter = 0; quarter < 5; quarter++) {
      for (let n = 0; n < 10; n++) await signIn("000000").expect(400, wrong);
      await dashboard.pool.query("DELETE FROM rate_limit WHERE key LIKE '%guess-email%'");
    }
    const { body } = await signIn(codeOf(secret, now)).expect(429);
    expect(body.retry_after).toBeGreaterThan(3_600);
    await signIn(recoveryCodes[0]).expect(429);
  });
});

describe("a recovery code", () => {
  it("signs in once, however many ask with it at once, in any case, and nobody else", async () => {
    const [first, second] = [await withCodes(), await withCodes()];
    expect(new Set(first.recoveryCodes).size).toBe(10);
    const [code = "", other = ""] = first.recoveryCodes;
    expect(code).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
    await second.signIn(code).expect(400, wrong);
    const all = await Promise.all(Array.from({ length: 5 }, () => first.signIn(code)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
    await first.signIn(other.toLowerCase().replaceAll("-", " ")).expect(200);
    expect((await first.as("get", "/me")).body.person.recoveryCodes).toBe(8);
  });

  it("is nowhere in the database, nor in an answer after the first", async () => {
    const { person, recoveryCodes, as } = await withCodes();
    const row = "SELECT totp::text AS text FROM totp WHERE person_id = $1";
    const { rows } = await dashboard.pool.query(row, [person.personId]);
    const plain = recoveryCodes.map((code) => code.replaceAll("-", ""));
    for (const code of plain) {
      expect(rows[0].text).not.toContain(code);
      expect(rows[0].text).not.toContain(Buffer.from(code).toString("hex"));
    }
    await as("put", "/me/codes", { code: "000000" }).expect(400, wrong);
  });
});

describe("codes", () => {
  it("need the password, once, and are no member's business", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    const { body: none } = await person.post("/me/codes", { password }).expect(400);
    expect(none.fields).toEqual({ password: "Set a password first: codes come after it" });
    const { as, url, secret } = await turnOn(dashboard, person, now);
    expect(url).toContain(`secret=${secret}`);
    const { body: taken } = await as("post", "/me/codes", { password }).expect(400);
    expect(taken.fields).toEqual({ password: "One-time codes are on already" });
    const { body: bad } = await as("post", "/me/codes", { password: "another horse battery" }).expect(400);
    expect(bad.fields).toEqual({ password: "Is not your password" });
    const other = await dashboard.signIn(person.accountId);
    expect((await other.get("/me")).body.person.recoveryCodes).toBeNull();
    expect(JSON.stringify((await other.get("/people")).body)).not.toContain("recovery");
    wait(1);
  });

  it("are not on before the first code, which a wrong one or another offer's is not", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    const { headers } = await person.post("/me/password", { password }).expect(200);
    const as = (method: "post" | "put", body: object) =>
      dashboard.anonymous()[method]("/me/codes", body).set("Cookie", cookieOf(headers));
    const { body: first } = await as("post", { password }).expect(200);
    await as("put", { code: "000000" }).expect(400, wrong);
    const { body: second } = await as("post", { password }).expect(200);
    await as("put", { code: codeOf(first.secret, now) }).expect(400, wrong);
    await post("/sign-in", { email: person.email, password }).expect(200, { isSignedIn: true });
    const code = codeOf(second.secret, now);
    const both = await Promise.all([as("put", { code }), as("put", { code })]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    wait(1);
  });

  it("are off with password and code, which the record says in each account", async () => {
    const { as, secret, person, signIn } = await withCodes();
    const off = (body: object) => as("post", "/me/codes/off", body);
    const code = codeOf(secret, now);
    await off({ password, code: "000000" }).expect(400, wrong);
    expect((await off({ password: "another horse battery", code }).expect(400)).body.fields).toHaveProperty("password");
    expect((await off({ password }).expect(400)).body.fields).toHaveProperty("code");
    await off({ password, code }).expect(200);
    await signIn().expect(200, { isSignedIn: true });
    const { body } = await as("get", "/audit").expect(200);
    const lines = body.entries.map((line: Record<string, string>) => [line["action"], line["subject"], line["person"]]);
    expect(lines).toEqual([
      ["factor_removed", "one-time codes", "A viewer"],
      ["factor_added", "one-time codes", "A viewer"],
    ]);
    expect(person.personId).toBeTruthy();
  });

  it("are asked for by mailed links, which a wrong one leaves as they are, and not by the operator's", async () => {
    const { person, secret, recoveryCodes, signIn } = await withCodes();
    await post("/forgot", { email: person.email }).expect(202);
    const token = /\/dashboard\/link\/([\w-]+)/.exec((await dashboard.takeMails()).at(-1)?.text ?? "")?.[1] ?? "";
    expect((await dashboard.anonymous().get(`/link?token=${token}`)).body).toMatchObject({ needsCode: true });
    const reset = { token, password: "a fresh password" };
    expect((await post("/link", reset).expect(400)).body.fields).toEqual({ code: "Required" });
    await post("/link", { ...reset, code: "000000" }).expect(400, wrong);
    await signIn().expect(200, { isSignedIn: false, needsCode: true });
    await post("/link", { ...reset, code: recoveryCodes[0] }).expect(200);
    await signIn(codeOf(secret, now)).expect(401);

    const { createSignInLink } = await import("@waymark/accounts/identity/links");
    const account = { id: person.accountId, email: "" };
    const operators = { pool: dashboard.pool, account, email: person.email, dashboardUrl: "http://localhost", now };
    const url = (await createSignInLink(operators))?.url ?? "";
    await post("/link", { token: url.split("/").at(-1) ?? "" }).expect(200, { isSignedIn: true, purpose: "sign_in" });
  });
});
