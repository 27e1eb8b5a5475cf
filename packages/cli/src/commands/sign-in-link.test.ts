import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const now = new Date("2026-11-22T10:00:00Z");
const waymark = createCommandLine({ DATABASE_URL: database.url, DASHBOARD_URL: "https://waymark.example/" }, () => now);

interface Link {
  url: string;
  email: string;
  expires_at: string;
}

describe("waymark sign-in-link", () => {
  it("makes the owner of an account without people, and a link of 15 minutes stored as a hash", async () => {
    await waymark.json("account", "create", "--email", "ada@example.com", "--plan", "free");
    const link = await waymark.json<Link & Record<string, unknown>>("sign-in-link", "--account", "ada@example.com");
    expect(link.url).toMatch(/^https:\/\/waymark\.example\/dashboard\/link\/[\w-]{43}$/);
    expect(link).toMatchObject({ email: "ada@example.com", expires_at: "2026-11-22T10:15:00.000Z" });
    const { rows } = await database.pool.query(
      `SELECT p.email, m.role, l.purpose, l::text LIKE '%' || $1 || '%' AS "isReadable"
       FROM one_time_link l JOIN person p ON p.id = l.person_id JOIN membership m ON m.person_id = p.id`,
      [link.url.split("/").at(-1)],
    );
    expect(rows).toEqual([{ email: "ada@example.com", role: "owner", purpose: "sign_in", isReadable: false }]);
  });

  it("signs in the same owner the next time, and makes no other people", async () => {
    await waymark.json("account", "create", "--email", "eve@example.com", "--plan", "free");
    const links = await Promise.all(
      [1, 2].map(() => waymark.json<Link & Record<string, unknown>>("sign-in-link", "--account", "eve@example.com")),
    );
    expect(links.map(({ email }) => email)).toEqual(["eve@example.com", "eve@example.com"]);
    const other = await waymark.run(["sign-in-link", "--account", "eve@example.com", "--email", "bob@example.com"]);
    expect(other).toMatchObject({ code: 1, stdout: "" });
    expect(other.stderr).toContain("none with the address 'bob@example.com'");
    const { rows } = await database.pool.query(
      "SELECT FROM person WHERE email IN ('eve@example.com', 'bob@example.com')",
    );
    expect(rows).toHaveLength(1);
  });

  it("ends with 2 for a text that is no address, and with 1 for an unknown account", async () => {
    const account = ["sign-in-link", "--account", "nobody@example.com"];
    expect(await waymark.run([...account, "--email", "bob"])).toMatchObject({ code: 2 });
    expect(await waymark.run(account)).toMatchObject({ code: 1 });
  });
});
