import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import type pg from "pg";
import { makeSite } from "../recording/site.fixture.js";
import { createSiteDirectory, SiteDirectoryFullError } from "./site-directory.js";

const database = useDatabase();

/** The pool, with counts of all statements and of concurrent ones. */
function observePool() {
  const seen = { statements: 0, atOnce: 0, most: 0 };
  const query = async (config: pg.QueryConfig) => {
    seen.statements++;
    seen.most = Math.max(seen.most, ++seen.atOnce);
    try {
      return await database.pool.query(config);
    } finally {
      seen.atOnce--;
    }
  };
  return { seen, pool: { query } as unknown as pg.Pool };
}

describe("the directory of sites", () => {
  it("finds what is asked for at once by one statement at a time, each domain once", async () => {
    const sites = await Promise.all([makeSite(database.pool), makeSite(database.pool)]);
    const { seen, pool } = observePool();
    const directory = createSiteDirectory({ pool });
    const domains = [0, 1].flatMap((n) => Array.from({ length: 50 }, () => sites[n]?.domain ?? ""));
    const unknown = Array.from({ length: 1_200 }, (_, n) => `unknown-${n}.example`);
    const found = await Promise.all([...unknown, ...domains].map((domain) => directory.find(domain)));
    expect(found.slice(0, 1_200).flat()).toEqual([]);
    expect(found.slice(1_200).map((each) => each.map(({ id }) => id))).toEqual(
      [0, 1].flatMap((n) => Array.from({ length: 50 }, () => [sites[n]?.id])),
    );
    expect(seen.most).toBe(1);
    expect(seen.statements).toBeLessThanOrEqual(4);
  });

  it("does not find a site that waits for the proof of its domain", async () => {
    const { id, domain } = await makeSite(database.pool);
    const setProven = (isProven: boolean) =>
      database.pool.query("UPDATE site SET is_proven = $2 WHERE id = $1", [id, isProven]);
    await setProven(false);
    expect(await createSiteDirectory(database).find(domain)).toEqual([]);
    await setProven(true);
    expect(await createSiteDirectory(database).find(domain)).toMatchObject([{ id }]);
  });

  it("finds no site of a domain that two accounts claim and nobody has proven", async () => {
    const [first, second] = [await makeSite(database.pool), await makeSite(database.pool)];
    const { domain } = first;
    const claim = "INSERT INTO site_domain (domain, account_id) SELECT $1, account_id FROM site WHERE id = $2";
    await database.pool.query(claim, [domain, first.id]);
    expect(await createSiteDirectory(database).find(domain)).toMatchObject([{ id: first.id }]);
    const rival = "UPDATE site SET domain = 'www.' || $1, is_proven = false WHERE id = $2";
    await database.pool.query(rival, [domain, second.id]);
    for (const asked of [domain, `www.${domain}`]) expect(await createSiteDirectory(database).find(asked)).toEqual([]);
    await database.pool.query("UPDATE site_domain SET is_proven = true WHERE domain = $1", [domain]);
    expect(await createSiteDirectory(database).find(`www.${domain}`)).toMatchObject([{ id: first.id }]);
  });

  it("finds a site with www. and without, and at most ten of a domain", async () => {
    const [first, ...more] = await Promise.all(Array.from({ length: 12 }, () => makeSite(database.pool)));
    const domain = first?.domain ?? "";
    await database.pool.query("UPDATE site SET domain = $1 WHERE id = ANY($2)", [domain, more.map(({ id }) => id)]);
    const directory = createSiteDirectory(database);
    const found = await directory.find(`WWW.${domain.toUpperCase()} `);
    expect(found.map(({ id }) => id)).toEqual(
      [first, ...more]
        .map((site) => site?.id)
        .sort()
        .slice(0, 10),
    );
    expect(await directory.find(`x.${domain}`)).toEqual([]);
  });

  it("keeps the sites that it knows whatever domains are made up, and asks for no text that no domain can be", async () => {
    const site = await makeSite(database.pool);
    const { seen, pool } = observePool();
    const directory = createSiteDirectory({ pool, now: () => 0 });
    expect(await directory.find(site.domain)).toHaveLength(1);
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 4_000 }, (_, n) => directory.find(`made-up-${round}-${n}.example`)));
    }
    const { statements } = seen;
    expect(await directory.find(site.domain)).toHaveLength(1);
    // The newest unknown domains are cached too.
    expect(await directory.find("made-up-4-3999.example")).toEqual([]);
    for (const text of ["", "a b", "ü.example", "x".repeat(254), "a/b", "'"])
      expect(await directory.find(text)).toEqual([]);
    expect(seen.statements).toBe(statements);
    expect(await directory.find("made-up-0-0.example")).toEqual([]);
    expect(seen.statements).toBe(statements + 1);
  });

  it("lets 5,000 domains wait and refuses more, and remembers no failure", async () => {
    let fail: (error: Error) => void = () => undefined;
    const query = () => new Promise((_, reject) => (fail = reject));
    const directory = createSiteDirectory({ pool: { query } as unknown as pg.Pool });
    const first = directory.find("first.example");
    const others = Array.from({ length: 5_000 }, (_, n) => directory.find(`${n}.example`));
    await expect(directory.find("one-more.example")).rejects.toThrow(SiteDirectoryFullError);
    const settled = Promise.allSettled([first, ...others]);
    for (let round = 0; round < 11; round++) {
      fail(new Error("down"));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await settled).filter(({ status }) => status === "rejected")).toHaveLength(5_001);
    const again = directory.find("first.example");
    fail(new Error("still down"));
    await expect(again).rejects.toThrow("still down");
  });
});
