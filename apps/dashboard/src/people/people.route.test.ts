import { describe, expect, it } from "@jest/globals";
import { recordAudit } from "@waymark/accounts/identity";
import { type SignedIn, useDashboard } from "../dashboard.fixture.js";

const dashboard = useDashboard();

const tokenIn = (text: string | undefined) => /\/dashboard\/link\/([\w-]+)/.exec(text ?? "")?.[1] ?? "";
const cookieOf = (headers: Record<string, unknown>) => String(headers["set-cookie"]).split(";")[0] ?? "";
const peopleOf = async (as: SignedIn) => (await as.get("/people").expect(200)).body.people as Record<string, unknown>[];
const actionsOf = async (as: SignedIn) =>
  (
    (await as.get("/audit").expect(200)).body.entries as { action: string; subject: string; person: string | null }[]
  ).map(({ action, subject, person }) => [action, subject, person]);

describe("a hundred waiting invitations", () => {
  it("are the most an account has; a repeated one replaces its link", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    const sql = `INSERT INTO one_time_link (hash, id, purpose, email, account_id, role, expires_at)
      SELECT sha256((n || $1)::bytea), gen_random_uuid(), 'invite', 'invited-' || n || '@example.com', $1::uuid, 'member',
        now() + interval '1 day' FROM generate_series(1, 100) AS n`;
    await dashboard.pool.query(sql, [owner.accountId]);
    const invite = (email: string) => owner.post("/people", { email, role: "member" });
    const { body } = await invite("one-more@example.com").expect(409);
    expect(body).toMatchObject({ error: "The account has no room for another one", limit: 100 });
    await invite("invited-1@example.com").expect(201);
    expect(await dashboard.takeMails()).toHaveLength(1);
  });
});

describe("people", () => {
  it("are listed by name for everybody in the account, invitations for owners", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    await dashboard.signIn(await dashboard.makeAccount());
    await owner.post("/people", { email: "New@example.com", role: "member" }).expect(201);
    await dashboard.takeMails();
    expect(await peopleOf(member)).toMatchObject([
      { name: "A member", email: member.email, role: "member", isYou: true },
      { name: "A owner", email: owner.email, role: "owner", isYou: false },
    ]);
    const { body } = await owner.get("/people").expect(200);
    expect(body.invitations).toMatchObject([{ email: "new@example.com", role: "member" }]);
    expect((await member.get("/people")).body.invitations).toEqual([]);
  });

  it("change roles at once, and the record says so", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, other] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    await other.get("/me").expect(200);
    await owner.patch(`/people/${other.personId}`, { role: "owner" }).expect(200);
    expect((await other.get("/me")).body.role).toBe("owner");
    await other.patch(`/people/${owner.personId}`, { role: "member" }).expect(200);
    await owner.patch(`/people/${other.personId}`, { role: "member" }).expect(403);
    expect(await actionsOf(owner)).toEqual([
      ["role_changed", `${owner.email} (member)`, "A member"],
      ["role_changed", `${other.email} (owner)`, "A owner"],
    ]);
  });

  it("are invited as viewers, who see all, leave, and change nothing from the moment of their role", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, other] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    await owner.post("/people", { email: "guest@example.com", role: "viewer" }).expect(201);
    const token = tokenIn((await dashboard.takeMails()).at(-1)?.text);
    const use = { token, name: "Guest", password: "correct horse battery" };
    const { headers } = await dashboard.anonymous().post("/link", use).expect(200);
    const guest = (path: string) => dashboard.anonymous().get(path).set("Cookie", cookieOf(headers));
    expect((await guest("/me").expect(200)).body.role).toBe("viewer");
    await guest("/audit").expect(200);

    await other.post("/sites", { domain: "before.example", name: "b" }).expect(201);
    await owner.patch(`/people/${other.personId}`, { role: "viewer" }).expect(200);
    const { body } = await other.post("/sites", { domain: "after.example", name: "a" }).expect(403);
    expect(body).toEqual({ error: "Your role in this account only reads" });
    await owner.patch(`/people/${owner.personId}`, { role: "viewer" }).expect(409);
    await owner.patch(`/people/${other.personId}`, { role: "reader" }).expect(400);
    await other.delete(`/people/${owner.personId}`).expect(403);
    await other.delete(`/people/${other.personId}`).expect(200);
    await other.get("/me").expect(401);
  });

  it("are removed with their sessions; without another account they are gone", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    await member.get("/me").expect(200);
    await owner.delete(`/people/${member.personId}`).expect(200);
    await member.get("/me").expect(401);
    const { rows } = await dashboard.pool.query("SELECT FROM person WHERE id = $1", [member.personId]);
    expect(rows).toEqual([]);
    expect(await actionsOf(owner)).toEqual([["person_removed", member.email, "A owner"]]);
  });

  it("leave by themselves, but not the last owner, also when two leave at once", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    await member.delete(`/people/${member.personId}`).expect(200);
    const refused = await owner.delete(`/people/${owner.personId}`).expect(409);
    expect(refused.body.error).toBe("The last owner cannot leave or become a member");
    await owner.patch(`/people/${owner.personId}`, { role: "member" }).expect(409);
    const second = await dashboard.signIn(accountId);
    const answers = await Promise.all([owner, second].map((each) => each.delete(`/people/${each.personId}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it("of another account are not found", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    for (const id of [stranger.personId, "x", "00000000-0000-7000-8000-000000000000"]) {
      await owner.patch(`/people/${id}`, { role: "member" }).expect(404);
      await owner.delete(`/people/${id}`).expect(404);
    }
    await stranger.get("/me").expect(200);
  });
});

describe("an invitation", () => {
  const password = "correct horse battery";

  it("lets a new person join with a name and a password of their own", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    await owner.patch("/account", { name: "Blue Robots" }).expect(200);
    await owner.post("/people", { email: "grace@example.com", role: "member" }).expect(201);
    const [mail] = await dashboard.takeMails();
    expect(mail).toMatchObject({ to: "grace@example.com", subject: "Join “Blue Robots” on Waymark" });
    const token = tokenIn(mail?.text);
    const { body } = await dashboard.anonymous().get(`/link?token=${token}`).expect(200);
    expect(body).toEqual({
      purpose: "invite",
      email: "grace@example.com",
      accountName: "Blue Robots",
      inviter: "A owner",
      needsSignIn: false,
      needsName: true,
      needsPassword: true,
      needsCode: false,
    });
    const missing = await dashboard.anonymous().post("/link", { token }).expect(400);
    expect(missing.body.fields).toEqual({ name: "Required", password: "Required" });
    const used = await dashboard.anonymous().post("/link", { token, name: "Grace", password }).expect(200);
    const me = await dashboard.anonymous().get("/me").set("Cookie", cookieOf(used.headers)).expect(200);
    expect(me.body).toMatchObject({ person: { name: "Grace" }, account: { id: owner.accountId }, role: "member" });
    expect((await actionsOf(owner))[0]).toEqual(["person_joined", "grace@example.com (member)", "Grace"]);
    await owner.post("/people", { email: "grace@example.com", role: "member" }).expect(409);
  });

  it("of a known person opens nothing: they sign in first, and it adds the account alone", async () => {
    const [first, second] = [await dashboard.makeAccount(), await dashboard.makeAccount()];
    const [person, owner] = [await dashboard.signIn(first), await dashboard.signIn(second)];
    await owner.post("/people", { email: person.email, role: "member" }).expect(201);
    const token = tokenIn((await dashboard.takeMails())[0]?.text);
    const refused = await dashboard.anonymous().post("/link", { token }).expect(401);
    expect(refused.headers["set-cookie"]).toBeUndefined();
    await owner.post("/link", { token }).expect(401);
    const { body } = await dashboard.anonymous().get(`/link?token=${token}`).expect(200);
    expect(body).toMatchObject({ needsSignIn: true, needsPassword: false, inviter: "A owner" });
    expect((await person.get("/me")).body.accounts).toHaveLength(1);

    expect((await person.get(`/link?token=${token}`).expect(200)).body.needsSignIn).toBe(false);
    const used = await person.post("/link", { token }).expect(200);
    expect(used.headers["set-cookie"]).toBeUndefined();
    const { body: me } = await person.get("/me").expect(200);
    expect(me).toMatchObject({ account: { id: second }, role: "member" });
    expect(me.accounts.map(({ id }: { id: string }) => id).sort()).toEqual([first, second].sort());
    await person.post("/link", { token }).expect(410);
    await person.post("/me/account", { accountId: await dashboard.makeAccount() }).expect(404);
    await owner.delete(`/people/${person.personId}`).expect(200);
    await person.get("/me").expect(401);
  });

  it.each(["forgotten", "changed"])("ends when the person's password is %s and replaced", async (reason) => {
    const [person, owner] = [
      await dashboard.signIn(await dashboard.makeAccount()),
      await dashboard.signIn(await dashboard.makeAccount()),
    ];
    await owner.post("/people", { email: person.email, role: "owner" }).expect(201);
    const token = tokenIn((await dashboard.takeMails())[0]?.text);
    if (reason === "changed") await person.post("/me/password", { password }).expect(200);
    else {
      await dashboard.anonymous().post("/forgot", { email: person.email }).expect(202);
      const reset = tokenIn((await dashboard.takeMails())[0]?.text);
      await dashboard.anonymous().post("/link", { token: reset, password }).expect(200);
    }
    await dashboard.anonymous().get(`/link?token=${token}`).expect(410);
    expect((await owner.get("/people")).body.invitations).toEqual([]);
  });

  it("works for 7 days, until it is taken back or another one replaces it", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    const invite = async () => {
      const { body } = await owner.post("/people", { email: "late@example.com", role: "owner" }).expect(201);
      const [mail] = await dashboard.takeMails();
      return { id: body.id as string, token: tokenIn(mail?.text) };
    };
    const [first, second] = [await invite(), await invite()];
    await dashboard.anonymous().get(`/link?token=${first.token}`).expect(410);
    await dashboard.anonymous().get(`/link?token=${second.token}`).expect(200);
    dashboard.setNow(new Date(Date.now() + 7 * 86_400_000 + 1_000));
    await dashboard.anonymous().get(`/link?token=${second.token}`).expect(410);
    dashboard.setNow(new Date());
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    await stranger.delete(`/invitations/${second.id}`).expect(404);
    await owner.delete(`/invitations/${second.id}`).expect(200);
    await dashboard.anonymous().get(`/link?token=${second.token}`).expect(410);
  });
});

describe("a name", () => {
  it.each(["You won! Claim at prize.example/1", "https://x", "me@example.com", "free。example"])(
    "with an address in it is no account's and nobody's: %s",
    async (name) => {
      const owner = await dashboard.signIn(await dashboard.makeAccount());
      const password = "correct horse battery";
      for (const request of [
        owner.patch("/account", { name }),
        owner.patch("/me", { name }),
        dashboard.anonymous().post("/sign-up", { name, email: "named@example.com", password }),
      ]) {
        const { body } = await request.expect(400);
        expect(body.fields).toEqual({ name: "Must not have an address of a website or of mail in it" });
      }
    },
  );

  it.each(["Acme Inc.", "J. R. R. Tolkien", "Ünï & Söhne, 2.0"])("%s is good", async (name) => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    await owner.patch("/account", { name }).expect(200);
  });
});

describe("the record", () => {
  it("shows 50 entries at a time to everybody of the account", async () => {
    const accountId = await dashboard.makeAccount();
    const member = await dashboard.signIn(accountId, "member");
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    for (let n = 0; n < 60; n++) {
      const entry = { accountId, personId: null, action: "key_created", subject: `key ${n}` } as const;
      await recordAudit(dashboard.pool, entry);
    }
    const { body: first } = await member.get("/audit").expect(200);
    expect(first).toMatchObject({ hasMore: true, entries: { length: 50 } });
    expect(first.entries[0]).toMatchObject({ action: "key_created", subject: "key 59", person: null });
    const { body: second } = await member.get(`/audit?before=${first.entries[49].id}`).expect(200);
    expect(second).toMatchObject({ hasMore: false, entries: { length: 10 } });
    expect((await stranger.get("/audit")).body.entries).toEqual([]);
  });
});

describe("the keys of a removed person", () => {
  const makeTeam = async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    await owner.post("/keys", { name: "own", service: "trace" }).expect(201);
    for (const name of ["a", "b"]) await member.post("/keys", { name, service: "trace" }).expect(201);
    return { accountId, owner, member };
  };
  const keysOf = async (as: SignedIn) =>
    ((await as.get("/keys").expect(200)).body.keys as { name: string }[]).map(({ name }) => name).sort();

  it("are counted beforehand, go on where an owner says so, and are counted as those of people who left", async () => {
    const { owner, member } = await makeTeam();
    const { body } = await owner.get("/people").expect(200);
    expect(body).toMatchObject({ people: [{ name: "A member", keys: 2 }, { keys: 1 }], leftKeys: 0 });
    await owner.delete(`/people/${member.personId}?keys=keep`).expect(200);
    expect(await keysOf(owner)).toEqual(["a", "b", "own"]);
    expect((await owner.get("/people").expect(200)).body).toMatchObject({ people: [{ keys: 1 }], leftKeys: 2 });
  });

  it.each(["", "?keys=revoke"])(
    "are revoked with the person by default, in this account alone, and the record names each: %s",
    async (query) => {
      const { owner, member } = await makeTeam();
      const other = await makeTeam();
      const sql = "UPDATE api_key SET created_by = $1 WHERE account_id = $2";
      await dashboard.pool.query(sql, [member.personId, other.accountId]);
      await owner.delete(`/people/${member.personId}${query}`).expect(200);
      expect(await keysOf(owner)).toEqual(["own"]);
      expect(await keysOf(other.owner)).toEqual(["a", "b", "own"]);
      const actions = (await actionsOf(owner)).slice(0, 3);
      expect(actions.map(([action]) => action)).toEqual(["key_revoked", "key_revoked", "person_removed"]);
      expect(actions.map(([, subject]) => subject?.replace(/ .*/, "")).sort()).toEqual(["a", "b", member.email]);
    },
  );

  it("stay where the removal is refused: the last owner, a member's try, an unknown choice", async () => {
    const { owner, member } = await makeTeam();
    await owner.delete(`/people/${owner.personId}?keys=revoke`).expect(409);
    await member.delete(`/people/${owner.personId}?keys=revoke`).expect(403);
    await owner.delete(`/people/${member.personId}?keys=burn`).expect(400);
    expect(await keysOf(owner)).toEqual(["a", "b", "own"]);
  });
});

describe("an invited address", () => {
  it("is in the record for owners, and nowhere for members", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    await owner.post("/people", { email: "secret@example.com", role: "member" }).expect(201);
    expect(await actionsOf(owner)).toEqual([["person_invited", "secret@example.com (member)", "A owner"]]);
    for (const path of ["/audit", "/people"]) {
      expect((await member.get(path).expect(200)).text).not.toContain("secret@example.com");
    }
  });
});

describe("a member", () => {
  it("gets 403 for each thing of an owner", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    const { body } = await owner.post("/people", { email: "x@example.com", role: "member" }).expect(201);
    const refused = [
      member.post("/people", { email: "friend@example.com", role: "owner" }),
      member.patch(`/people/${member.personId}`, { role: "owner" }),
      member.patch(`/people/${owner.personId}`, { role: "member" }),
      member.delete(`/people/${owner.personId}`),
      member.delete(`/invitations/${body.id}`),
      member.patch("/account", { name: "Mine" }),
    ];
    for (const request of refused) {
      expect((await request.expect(403)).body).toEqual({ error: "Only an owner of the account may do this" });
    }
  });
});
