import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { channelKinds } from "@waymark/alerts";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const { run, json } = createCommandLine({ DATABASE_URL: database.url });

async function newAccount(plan = "pro") {
  const email = `${randomUUID()}@example.com`;
  return json<{ id: string; email: string }>("account", "create", "--email", email, "--plan", plan);
}

interface Created {
  id: string;
  kind: string;
  to: string;
  secret?: string;
}
const create = (account: string, kind: string, to: string, ...more: string[]) =>
  json<Created>("channel", "create", "--account", account, "--kind", kind, "--to", to, ...more);
const list = (account: string) => json<Created[]>("channel", "list", "--account", account);
const deliveries = (channel: string) => json<object[]>("channel", "deliveries", channel);
const slack = "https://hooks.slack.com/services/T0/B0/abcdefgh1234";

describe("channel", () => {
  it("list has the account's own address, from the start and after a change", async () => {
    const { id, email } = await newAccount();
    const own = { id, kind: "mail", state: "active", agents: [], statuses: [], recovered: false };
    expect(await list(email)).toEqual([expect.objectContaining({ ...own, to: email })]);
    await create(email, "webhook", "https://example.com/hook");
    const newEmail = `${randomUUID()}@example.com`;
    await json("account", "email", "--account", email, "--email", newEmail);
    expect((await list(newEmail))[0]).toMatchObject({ ...own, to: newEmail });
  });

  it("create shows a webhook's secret once, and a Slack URL whole only then", async () => {
    const { email } = await newAccount();
    const webhook = await create(email, "webhook", "https://example.com/hook", "--recovered");
    expect(webhook).toEqual({
      id: expect.any(String),
      kind: "webhook",
      to: "https://example.com/hook",
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    const limits = ["--agent", "a", "--agent", "b", "--status", "timeout"];
    const made = await create(email, "slack", slack, ...limits);
    expect(made).toEqual({ id: expect.any(String), kind: "slack", to: slack });
    const listed = await list(email);
    expect(listed.map(({ to }) => to)).toEqual([email, "https://example.com/hook", "https://hooks.slack.com/…1234"]);
    expect(listed.slice(1)).toMatchObject([
      { agents: [], statuses: [], recovered: true },
      { agents: ["a", "b"], statuses: ["timeout"], recovered: false },
    ]);
    expect(JSON.stringify(listed)).not.toMatch(/whsec_|abcdefgh/);
    expect((await run(["channel", "list", "--account", email])).stdout).not.toMatch(/whsec_|abcdefgh/);
  });

  it.each([
    ["mail", "nobody", 1, "to: Must be an email address."],
    ["webhook", "example.com/hook", 1, "to: Must be an http or https URL"],
    ["webhook", "ftp://example.com/", 1, "to: Must be an http or https URL"],
    ["webhook", "https://me:secret@example.com/", 1, "to: Must be an http or https URL without a name or password"],
    ["discord", `https://example.com/${"x".repeat(2000)}`, 1, "of at most 2000 characters."],
    ["pager", "https://example.com/", 2, `Allowed choices are ${channelKinds.join(", ")}.`],
  ])("create refuses %s to %s", async (kind, to, expected, sentence) => {
    const { email } = await newAccount();
    const { code, stdout, stderr } = await run(["channel", "create", "--account", email, "--kind", kind, "--to", to]);
    expect({ code, stdout }).toEqual({ code: expected, stdout: "" });
    expect(stderr).toContain(sentence);
    expect(await list(email)).toHaveLength(1);
  });

  it("create refuses a Free account, blank agents, unknown statuses and a channel too many", async () => {
    const free = await newAccount("free");
    const { email } = await newAccount();
    const refuse = async (account: string, ...more: string[]) => {
      const args = ["channel", "create", "--account", account, "--kind", "mail", "--to", "a@example.com", ...more];
      return (await run(args)).stderr;
    };
    expect(await refuse(free.email)).toBe("Channels need the Pro plan.\n");
    expect(await refuse(email, "--agent", " ")).toBe("agent: Must not be blank.\n");
    expect(await refuse(email, "--status", "success")).toContain("It must be error or timeout.");
    for (let n = 1; n < 20; n++) await create(email, "webhook", "https://example.com/hook");
    expect(await refuse(email)).toBe("An account has at most 20 channels.\n");
  });

  it("confirm vouches for a stranger's address, or sends its link again", async () => {
    const { email } = await newAccount();
    const { id, ...made } = await create(email, "mail", "stranger@example.org");
    expect(made).toMatchObject({ state: "waiting" });
    expect((await run(["channel", "test", id])).stderr).toContain("The channel waits for its address");
    expect(await json("channel", "confirm", id, "--resend")).toEqual({ id });
    expect(await deliveries(id)).toMatchObject([{ type: "confirm" }, { type: "confirm" }]);
    expect(await json("channel", "confirm", id)).toEqual({ id });
    expect((await list(email))[1]).toMatchObject({ id, state: "active" });
  });

  it("test queues one delivery; delete takes it along", async () => {
    const { email } = await newAccount();
    const { id } = await create(email, "webhook", "https://example.com/hook");
    const { delivery_id } = await json<{ delivery_id: string }>("channel", "test", id);
    expect(await deliveries(id)).toEqual([
      expect.objectContaining({ id: delivery_id, type: "test", state: "pending", attempts: 0 }),
    ]);
    expect(await json("channel", "delete", id)).toEqual({ id, kind: "webhook" });
    const { code, stderr } = await run(["channel", "deliveries", id]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "Channel not found. 'waymark channel list --account ID' shows them.\n",
    });
    const { rowCount } = await database.pool.query("SELECT FROM delivery WHERE channel_id = $1", [id]);
    expect(rowCount).toBe(0);
  });

  it("delete ends the account's own mails, and leaves another account's", async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    expect(await json("channel", "delete", one.id)).toEqual({ id: one.id, kind: "mail" });
    expect(await list(one.email)).toEqual([]);
    expect((await run(["channel", "delete", one.id])).code).toBe(1);
    expect(await list(other.email)).toHaveLength(1);
  });
});

describe("account alerts", () => {
  it("sets the mode, and keeps the window until another is given", async () => {
    const { id, email } = await newAccount();
    const set = (...args: string[]) => json("account", "alerts", email, ...args);
    expect(await set("--mode", "digest")).toEqual({ id, mode: "digest", window_seconds: 600 });
    expect(await set("--mode", "digest", "--window", "90s")).toEqual({ id, mode: "digest", window_seconds: 90 });
    expect(await set("--mode", "each")).toEqual({ id, mode: "each", window_seconds: 90 });
    expect(await set("--mode", "digest", "--window", "1d")).toEqual({ id, mode: "digest", window_seconds: 86_400 });
    expect(await list(email)).toHaveLength(1);
  });

  it.each([
    ["59s", 1, "window: Must be from 1m to 24h."],
    ["86401s", 1, "window: Must be from 1m to 24h."],
    ["ten", 2, "It must be a time such as 90s, 10m, 2h or 1d."],
  ])("refuses a window of %s", async (window, expected, sentence) => {
    const { email } = await newAccount();
    const { code, stderr } = await run(["account", "alerts", email, "--mode", "digest", "--window", window]);
    expect(code).toBe(expected);
    expect(stderr).toContain(sentence);
  });
});
