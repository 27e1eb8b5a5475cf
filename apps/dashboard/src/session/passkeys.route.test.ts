import { describe, expect, it } from "@jest/globals";
import { type SignedIn, useDashboard } from "../dashboard.fixture.js";
import { cookieOf, password, turnOn } from "./codes.fixture.js";
import { createAuthenticator } from "./passkeys.fixture.js";

const dashboard = useDashboard({ env: { TRUSTED_PROXIES: "loopback" } });
const refused = { error: "The passkey was not accepted" };

let networks = 0;
const post = (path: string, body: object = {}) =>
  dashboard.anonymous().post(path, body).set("X-Forwarded-For", `192.0.2.${++networks}`);
const challenge = async () => (await post("/passkey/challenge").expect(200)).body.challenge as string;

async function add(person: Pick<SignedIn, "post">, name = "laptop", authenticator = createAuthenticator()) {
  const { body } = await person.post("/me/passkeys/challenge", {}).expect(200);
  const credential = authenticator.create({ challenge: body.challenge });
  await person.post("/me/passkeys", { name, credential }).expect(201);
  return authenticator;
}

const someone = async () => dashboard.signIn(await dashboard.makeAccount(), "viewer");
const setNow = (afterMs: number) => dashboard.setNow(new Date(Date.now() + afterMs));

describe("a passkey", () => {
  it("signs in without a password, in place of the session of before, and says when", async () => {
    const person = await someone();
    const authenticator = await add(person, "  My laptop ");
    expect((await person.get("/me/passkeys")).body.passkeys).toMatchObject([{ name: "My laptop", usedAt: null }]);
    const assertion = authenticator.get({ challenge: await challenge() });
    const { headers } = await post("/passkey", assertion)
      .set("Cookie", person.cookie)
      .expect(200, { isSignedIn: true });
    expect(cookieOf(headers)).not.toBe(person.cookie);
    await dashboard.anonymous(dashboard.secondApp).get("/me").set("Cookie", person.cookie).expect(401);
    const { body } = await dashboard.anonymous().get("/me/passkeys").set("Cookie", cookieOf(headers)).expect(200);
    expect(body.passkeys[0].usedAt).not.toBeNull();
  });

  it("counts for password and code, which its adding asks the password for", async () => {
    const person = await someone();
    const { as } = await turnOn(dashboard, person, new Date());
    const { body } = await as("post", "/me/passkeys/challenge", {}).expect(400);
    expect(body.fields).toEqual({ password: "Required" });
    const { body: options } = await as("post", "/me/passkeys/challenge", { password }).expect(200);
    const authenticator = createAuthenticator();
    const credential = authenticator.create({ challenge: options.challenge });
    await as("post", "/me/passkeys", { name: "phone", credential }).expect(201);
    await post("/passkey", authenticator.get({ challenge: await challenge() })).expect(200, { isSignedIn: true });
  });

  it("is refused for another origin or host, without the person's proof, and with another's id", async () => {
    const [person, other] = [await someone(), await someone()];
    const [own, theirs] = [await add(person), await add(other)];
    for (const wrong of [{ origin: "https://evil.example" }, { rpId: "evil.example" }, { isVerified: false }]) {
      await post("/passkey", own.get({ challenge: await challenge(), ...wrong })).expect(400, refused);
      const { body } = await person.post("/me/passkeys/challenge", {}).expect(200);
      const credential = createAuthenticator().create({ challenge: body.challenge, ...wrong });
      await person.post("/me/passkeys", { name: "x", credential }).expect(400, refused);
    }
    const forged = { ...own.get({ challenge: await challenge() }), id: theirs.id, rawId: theirs.id };
    await post("/passkey", forged).expect(400, refused);
    await post("/passkey", createAuthenticator().get({ challenge: await challenge() })).expect(400, refused);
    await post("/passkey", { ...forged, response: {} }).expect(400);
  });

  it("answers a challenge once, of this sign-in, of five minutes", async () => {
    const [person, other] = [await someone(), await someone()];
    const own = await add(person);
    const assertion = own.get({ challenge: await challenge() });
    const all = await Promise.all(Array.from({ length: 4 }, () => post("/passkey", assertion)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    await post("/passkey", assertion).expect(400, refused);
    await post("/passkey", own.get({ challenge: Buffer.alloc(32).toString("base64url") })).expect(400, refused);

    const { body: adding } = await person.post("/me/passkeys/challenge", {}).expect(200);
    await post("/passkey", own.get({ challenge: adding.challenge })).expect(400, refused);
    const credential = createAuthenticator().create({ challenge: adding.challenge });
    await other.post("/me/passkeys", { name: "stolen", credential }).expect(400, refused);
    const forSignIn = createAuthenticator().create({ challenge: await challenge() });
    await person.post("/me/passkeys", { name: "x", credential: forSignIn }).expect(400, refused);

    setNow(0);
    const [late, inTime] = [await challenge(), await challenge()];
    setNow(4 * 60_000);
    await post("/passkey", own.get({ challenge: inTime })).expect(200);
    setNow(6 * 60_000);
    await post("/passkey", own.get({ challenge: late })).expect(400, refused);
    setNow(0);
  });

  it("whose counter went back is refused: somebody has a copy", async () => {
    const person = await someone();
    const own = await add(person, "key", createAuthenticator(5));
    const signIn = async (count: number) => {
      own.count(count);
      return post("/passkey", own.get({ challenge: await challenge() }));
    };
    expect((await signIn(7)).status).toBe(200);
    expect((await signIn(9)).status).toBe(200);
    expect((await signIn(9)).status).toBe(400);
    expect((await signIn(8)).status).toBe(400);
    expect((await signIn(10)).status).toBe(200);
  });
});

describe("passkeys", () => {
  it("are twenty of a person at most, each of one person alone", async () => {
    const [person, other] = [await someone(), await someone()];
    const first = await add(person);
    const sql = `INSERT INTO passkey (id, person_id, name, public_key, counter)
      SELECT 'id-' || n || $1, $1::uuid, 'n', '', 0 FROM generate_series(1, 18) AS n`;
    await dashboard.pool.query(sql, [person.personId]);
    await add(person, "the twentieth");
    const { body } = await person.post("/me/passkeys/challenge", {}).expect(200);
    const credential = createAuthenticator().create({ challenge: body.challenge });
    expect((await person.post("/me/passkeys", { name: "x", credential }).expect(409)).body).toMatchObject({
      limit: 20,
    });
    const { body: theirs } = await other.post("/me/passkeys/challenge", {}).expect(200);
    const taken = first.create({ challenge: theirs.challenge });
    await other.post("/me/passkeys", { name: "x", credential: taken }).expect(400, refused);
  });

  it("end with their removal, by their person alone, and with the person; the record says so", async () => {
    const [person, other] = [await someone(), await someone()];
    const own = await add(person);
    await other.delete(`/me/passkeys/${own.id}`).expect(404);
    await person.delete(`/me/passkeys/${own.id}`).expect(200);
    await person.delete(`/me/passkeys/${own.id}`).expect(404);
    await post("/passkey", own.get({ challenge: await challenge() })).expect(400, refused);
    const { body } = await person.get("/audit").expect(200);
    expect(body.entries.map(({ action, subject }: Record<string, string>) => [action, subject])).toEqual([
      ["factor_removed", "passkey laptop"],
      ["factor_added", "passkey laptop"],
    ]);
    const again = await add(person);
    await dashboard.pool.query("DELETE FROM membership WHERE person_id = $1", [person.personId]);
    await post("/passkey", again.get({ challenge: await challenge() })).expect(400, refused);
  });

  it("have at most 10,000 challenges that wait; the oldest make room", async () => {
    const fill = `INSERT INTO challenge (hash, expires_at)
      SELECT sha256(n::text::bytea), now() + interval '1 minute' + n * interval '1 ms' FROM generate_series(1, 10000) AS n`;
    await dashboard.pool.query("DELETE FROM challenge");
    await dashboard.pool.query(fill);
    await challenge();
    const { rows } = await dashboard.pool.query("SELECT count(*)::int AS n FROM challenge");
    expect(rows[0].n).toBe(10_000);
  });

  it("ask thirty challenges of a network in a quarter of an hour, and no more", async () => {
    const ask = () => dashboard.anonymous().post("/passkey/challenge", {}).set("X-Forwarded-For", "198.51.100.1");
    for (let n = 0; n < 30; n++) await ask().expect(200);
    await ask().expect(429);
  });
});
