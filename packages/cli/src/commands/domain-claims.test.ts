import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createSite } from "@waymark/accounts";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const { run, json } = createCommandLine({ DATABASE_URL: database.url });

const newAccount = async () =>
  (await json<{ id: string }>("account", "create", "--email", `${randomUUID()}@example.com`, "--plan", "pro")).id;
const newDomain = () => `${randomUUID()}.example`;
const create = (account: string, domain: string, ...more: string[]) =>
  run(["site", "create", "--account", account, "--domain", domain, "--name", "x", "--json", ...more]);
const holderOf = async (domain: string) =>
  (await database.pool.query("SELECT account_id FROM site_domain WHERE domain = $1", [domain])).rows[0]?.account_id;

describe("a domain", () => {
  it("belongs to the first account that has a site for it, with www. and without", async () => {
    const [first, second, domain] = [await newAccount(), await newAccount(), newDomain()];
    expect((await create(first, domain)).code).toBe(0);
    for (const text of [domain, `www.${domain}`, `https://www.www.${domain.toUpperCase()}/`]) {
      const refused = await create(second, text);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("belongs to another account, which has a site for it.");
    }
    expect((await create(first, `www.${domain}`)).code).toBe(0);
    expect(await json("site", "list", "--account", second)).toEqual([]);
  });

  it("goes to exactly one of two accounts that ask at once", async () => {
    const [first, second, domain] = [await newAccount(), await newAccount(), newDomain()];
    const results = await Promise.all(Array.from({ length: 8 }, (_, n) => create(n % 2 ? first : second, domain)));
    const { rows } = await database.pool.query("SELECT account_id FROM site WHERE domain = $1", [domain]);
    expect(new Set(rows.map(({ account_id }) => account_id))).toEqual(new Set([await holderOf(domain)]));
    expect(results.filter(({ code }) => code === 0)).toHaveLength(4);
  });

  it("has ten sites and no eleventh, also when many ask at once", async () => {
    const [account, domain] = [await newAccount(), newDomain()];
    const results = await Promise.all(Array.from({ length: 14 }, () => create(account, domain)));
    expect(results.filter(({ code }) => code === 0)).toHaveLength(10);
    const refused = await create(account, domain);
    expect(refused.stderr).toBe(`The domain ${domain} has 10 sites, and at most 10 get its events.\n`);
    const { id } = JSON.parse(results.find(({ code }) => code === 0)?.stdout ?? "");
    const renamed = await json("site", "rename", "--site", id, "--name", "x", "--domain", `www.${domain}`);
    expect(renamed).toEqual({ id, domain: `www.${domain}`, name: "x" });
  });

  it("is shared where the operator says so, and both accounts' lists say it", async () => {
    const [first, second, domain] = [await newAccount(), await newAccount(), newDomain()];
    await create(first, domain);
    expect((await create(second, domain, "--shared")).code).toBe(0);
    expect(await holderOf(domain)).toBe(first);
    for (const account of [first, second]) {
      const { stdout, stderr } = await run(["site", "list", "--account", account, "--json"]);
      expect(JSON.parse(stdout)).toEqual([{ id: expect.any(String), domain, name: "x" }]);
      expect(stderr).toBe(
        `Note: another account has a site with the domain ${domain} too, and gets the same events.\n`,
      );
    }
  });

  it("is free again when the account's last site of it is gone, however it went, or passes to who shares it", async () => {
    const [first, second, domain] = [await newAccount(), await newAccount(), newDomain()];
    await create(first, domain);
    await create(first, `www.${domain}`);
    await database.pool.query("DELETE FROM site WHERE domain = $1", [domain]);
    expect(await holderOf(domain)).toBe(first);
    await create(second, domain, "--shared");
    await database.pool.query("DELETE FROM account WHERE id = $1", [first]);
    expect(await holderOf(domain)).toBe(second);
    await database.pool.query("DELETE FROM account WHERE id = $1", [second]);
    expect(await holderOf(domain)).toBeUndefined();
  });
});

describe("site claim", () => {
  it("gives a site the events of a domain that another account has, or shares them", async () => {
    const [first, second, domain] = [await newAccount(), await newAccount(), newDomain()];
    const theirs = JSON.parse((await create(first, domain)).stdout).id;
    const { site } = await createSite(database.pool, { accountId: second, domain, name: "x", whenTaken: "wait" });
    const proven = async () =>
      (await database.pool.query("SELECT id FROM site WHERE domain = $1 AND is_proven ORDER BY id", [domain])).rows;
    const { stderr } = await run(["site", "list", "--account", second]);
    expect(stderr).toBe(
      `Note: the site ${site.id} gets no events: another account has the domain ${domain}, and this one did not prove it.\n`,
    );
    expect(await proven()).toEqual([{ id: theirs }]);
    expect((await run(["site", "claim", "--site", site.id, "--shared"])).code).toBe(0);
    expect([await holderOf(domain), await proven()]).toEqual([first, [{ id: theirs }, { id: site.id }]]);
    expect(await json("site", "claim", "--site", site.id)).toEqual({ id: site.id, domain, name: "x" });
    expect([await holderOf(domain), await proven()]).toEqual([second, [{ id: site.id }]]);
    await database.pool.query("DELETE FROM site WHERE id = $1", [site.id]);
    expect(await holderOf(domain)).toBeUndefined();
  });

  it("that sites of several accounts shared before there were claims is noted for those that get no events", async () => {
    const [first, second, domain] = [await newAccount(), await newAccount(), newDomain()];
    const site = (n: number) => `01890000-0000-7000-8000-0000000001${String(n).padStart(2, "0")}`;
    for (let n = 0; n < 11; n++) {
      const values = [site(n), n === 0 ? first : second, domain];
      await database.pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, 'x')", values);
    }
    await database.pool.query("INSERT INTO site_domain (domain, account_id, is_proven) VALUES ($1, $2, true)", [
      domain,
      first,
    ]);
    const { stdout, stderr } = await run(["site", "list", "--account", second, "--json"]);
    expect(JSON.parse(stdout)).toHaveLength(10);
    expect(stderr.trim().split("\n")).toHaveLength(10);
    expect(stderr).toContain(`Note: the site ${site(10)} gets no events: 10 older sites have the domain ${domain}.\n`);
  });
});
