import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";
import { localSystemFile } from "../local-system.js";

const database = useDatabase();
const { run, json } = createCommandLine({ DATABASE_URL: database.url });

async function newAccount(plan = "pro") {
  const email = `${randomUUID()}@example.com`;
  return json<{ id: string; email: string }>("account", "create", "--email", email, "--plan", plan);
}

const newDomain = () => `${randomUUID()}.example`;
const createSite = (account: string, domain: string, name = "s") =>
  json<{ id: string }>("site", "create", "--account", account, "--domain", domain, "--name", name, "--shared");

describe("an account's address", () => {
  it("stands for its id in every command", async () => {
    const { id, email } = await newAccount("free");
    const { id: siteId } = await createSite(email.toUpperCase(), newDomain());
    const key = ["--service", "trace", "--name", "k"];
    const { id: keyId } = await json<{ id: string }>("key", "create", "--account", email, ...key);
    expect(await json("key", "list", "--account", email)).toMatchObject([{ id: keyId }]);
    expect(await json("site", "list", "--account", email)).toMatchObject([{ id: siteId }]);
    expect(await json("usage", "--account", email)).toMatchObject({ account_id: id });
    expect(await json("alert", "list", "--account", email)).toEqual([]);
    expect(await json("account", "plan", email, "--plan", "pro")).toEqual({ id, email, plan: "pro" });
    const newEmail = `${randomUUID()}@example.com`;
    expect(await json("account", "email", "--account", email, "--email", newEmail)).toEqual({
      id,
      email: newEmail,
      plan: "pro",
    });
    expect(await json("account", "delete", "--account", newEmail, "--yes")).toMatchObject({ id, complete: true });
  });

  it("that no account has is named, with the command that lists them", async () => {
    const { code, stdout, stderr } = await run(["usage", "--account", "nobody@example.com", "--json"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      "There is no account with the address nobody@example.com. 'waymark account list' shows them.\n",
    );
  });
});

describe("a site's domain", () => {
  it("stands for its id in every command", async () => {
    const { email } = await newAccount();
    const domain = newDomain();
    const { id } = await createSite(email, domain);
    expect(await run(["export", "--site", `https://${domain.toUpperCase()}/`])).toMatchObject({ code: 0, stdout: "" });
    const line = JSON.stringify({ ts: "2026-05-01T12:00:00Z", path: "/", visitor: "v" });
    expect((await run(["import", "--site", domain, "--file", "-"], line)).stdout).toContain("1 imported");
    expect(await json("rollup", "rebuild", "--site", domain, "--check")).toMatchObject({ differences: 0 });
    const renamed = newDomain();
    expect(await json("site", "rename", "--site", domain, "--domain", renamed)).toEqual({
      id,
      domain: renamed,
      name: "s",
    });
    expect(await json("site", "rename", "--site", renamed, "--name", "n")).toEqual({ id, domain: renamed, name: "n" });
    expect(await json("site", "delete", "--site", renamed, "--yes")).toMatchObject({ id, complete: true });
  });

  it("that several sites have is refused with their ids", async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    const domain = newDomain();
    const sites = [await createSite(one.id, domain, "first"), await createSite(other.id, domain, "second")];
    const { code, stdout, stderr } = await run(["site", "delete", "--site", domain, "--yes"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      `Several sites have the domain ${domain}. Give the id of one: ${sites[0]?.id} (first), ${sites[1]?.id} (second).\n`,
    );
    expect(await json("site", "delete", "--site", sites[0]?.id ?? "", "--yes")).toMatchObject({ complete: true });
    expect(await json("site", "rename", "--site", domain, "--name", "alone")).toMatchObject({ id: sites[1]?.id });
  });

  it.each([
    ["nothing.example", "There is no site with the domain 'nothing.example'. 'waymark site list"],
    ["nothing", "There is no site 'nothing'. 'waymark site list --account ID' shows them."],
    ["two words.example", "'two words.example' is not a domain."],
  ])("%j is refused with a sentence", async (text, sentence) => {
    const { code, stderr } = await run(["site", "delete", "--site", text]);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
  });
});

describe("site rename", () => {
  it("asks for something to change", async () => {
    const { email } = await newAccount();
    const domain = newDomain();
    await createSite(email, domain);
    const { code, stderr } = await run(["site", "rename", "--site", domain]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: "Give --name, --domain, or both.\n" });
  });
});

describe("key rename", () => {
  it("changes the name and nothing else", async () => {
    const { email } = await newAccount();
    const { id } = await json<{ id: string }>(
      ...["key", "create", "--account", email, "--service", "trace", "--name", "old"],
    );
    const [before] = await json<Record<string, unknown>[]>("key", "list", "--account", email);
    expect(await json("key", "rename", id, "--name", "new")).toEqual({ ...before, name: "new" });
    expect(await json("key", "list", "--account", email)).toEqual([{ ...before, name: "new" }]);
    expect((await run(["key", "rename", id, "--name", "newer"])).stdout).toMatch(/^ID .*\n.* newer /);
  });

  it("is refused for blank names and unknown keys", async () => {
    const unknown = await run(["key", "rename", randomUUID(), "--name", "x"]);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("'waymark key list --account ID'") });
    const blank = await run(["key", "rename", randomUUID(), "--name", " "]);
    expect(blank).toMatchObject({ code: 1, stderr: "A key's name has 1 to 200 characters.\n" });
  });
});

describe("site create", () => {
  const create = (email: string, domain: string, ...more: string[]) => [
    "site",
    "create",
    "--account",
    email,
    "--domain",
    domain,
    "--name",
    "s",
    ...more,
  ];
  const tag = (url: string, domain: string) =>
    `<script defer src="${url}/js/script.js" data-domain="${domain}"></script>\n`;

  it("prints the script tag with the collector that is named, and not into the JSON", async () => {
    const { email } = await newAccount();
    const domain = newDomain();
    const printed = async (cli: { run: typeof run }, ...more: string[]) =>
      (await cli.run(create(email, domain, ...more))).stdout;
    expect(await printed({ run }, "--collector", "https://events.example.com/")).toMatch(
      new RegExp(`\nPaste this into the pages' <head>:\n${tag("https://events.example.com", domain)}$`),
    );
    const named = createCommandLine({ DATABASE_URL: database.url, COLLECTOR_URL: "https://e.example/waymark" });
    expect(await printed(named)).toContain(tag("https://e.example/waymark", domain));
    expect(await printed({ run })).toContain(tag("https://collector.example.com", domain));
    const ofSlots = createCommandLine({ DATABASE_URL: database.url, COLLECTOR_URL: "https://{slot}.e.example" });
    const { rows } = await database.pool.query("SELECT slot FROM account WHERE email = $1", [email]);
    expect(await printed(ofSlots)).toContain(tag(`https://${rows[0].slot}.e.example`, domain));
    expect(await json(...create(email, domain))).toEqual({ id: expect.any(String), domain, name: "s" });
  });

  it("knows the collector of the running local system", async () => {
    const { email } = await newAccount();
    const folder = await mkdtemp(join(tmpdir(), "waymark-tag-"));
    const system = { pid: 1, processStart: "x", databaseUrl: database.url, collectorUrl: "http://127.0.0.1:4399" };
    await writeFile(localSystemFile(folder), JSON.stringify(system));
    const domain = newDomain();
    const { stdout } = await createCommandLine({ WAYMARK_DATA_DIR: folder }).run(create(email, domain));
    expect(stdout).toContain(tag("http://127.0.0.1:4399", domain));
    await rm(folder, { recursive: true });
  });

  it("refuses a collector that is no URL, and makes no site", async () => {
    const { email } = await newAccount();
    const { code, stderr } = await run(create(email, newDomain(), "--collector", "events.example.com"));
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(/^--collector or COLLECTOR_URL/) });
    expect(await json("site", "list", "--account", email)).toEqual([]);
  });
});
