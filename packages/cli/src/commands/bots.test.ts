import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const cli = createCommandLine({ DATABASE_URL: database.url });

const gptBot = {
  name: "GPTBot",
  operator: "OpenAI",
  purpose: "training",
  engine: "ChatGPT",
  userAgent: "GPTBot",
  ranges: ["9.9.9.0/24"],
  source: "https://example.com/bots",
  checked: "2026-11-01",
  example: "GPTBot/9.0 (bot)",
};
const newBot = {
  ...gptBot,
  name: "NewBot",
  userAgent: "NewBot",
  engine: undefined,
  ranges: undefined,
  example: "NewBot/1",
};

async function update(list: unknown) {
  const file = join(await mkdtemp(join(tmpdir(), "waymark-bots-")), "machines.json");
  await writeFile(file, typeof list === "string" ? list : JSON.stringify(list));
  return cli.run(["bots", "update", "--file", file]);
}

describe("waymark bots", () => {
  it("replaces the list that comes with Waymark by a later one, and that by a later one", async () => {
    const shipped = await cli.json("bots", "show");
    expect(shipped).toMatchObject({ machines: expect.any(Number), stored_at: null });
    for (const version of ["2030-01-01", "2030-01-02"]) {
      const { code, stdout } = await update({ version, machines: [gptBot, newBot] });
      expect([code, stdout]).toEqual([0, expect.stringContaining(`Version ${version}: 2 machines, stored `)]);
    }
    const { rows } = await database.pool.query("SELECT version::text, list::text FROM machine_list");
    const machines = JSON.parse(JSON.stringify([gptBot, newBot]));
    expect(rows.map(({ version, list }) => [version, JSON.parse(list)])).toEqual([
      ["2030-01-02", { version: "2030-01-02", machines }],
    ]);
    expect(await cli.json("bots", "show")).toMatchObject({ version: "2030-01-02", machines: 2 });
    const { code, stderr } = await update({ version: "2030-01-02", machines: [gptBot] });
    expect([code, stderr]).toEqual([1, expect.stringContaining("version: Must be after 2030-01-02")]);
  });

  const version = "2031-01-01";
  it.each([
    ["no JSON", "{", "It is no JSON"],
    ["another form", [], "the file: "],
    ["a wrong version", { version: "soon", machines: [gptBot] }, "version: "],
    [
      "a wrong purpose",
      { version, machines: [gptBot, { ...newBot, purpose: "fun" }] },
      "machines.1 (NewBot) purpose: ",
    ],
    ["an address", { version, machines: [{ ...gptBot, ranges: ["9.9.9.9"] }] }, "machines.0 (GPTBot) ranges.0: "],
    ["everybody's range", { version, machines: [{ ...gptBot, ranges: ["0.0.0.0/0"] }] }, "ranges.0: Must not be wider"],
    ["a top-level domain", { version, machines: [{ ...gptBot, domains: ["com"] }] }, "machines.0 (GPTBot) domains.0: "],
    ["an unknown member", { version, machines: [{ ...gptBot, pattern: "(a+)+$" }] }, "machines.0 (GPTBot) entry: "],
    [
      "a long word",
      { version, machines: [{ ...gptBot, userAgent: "x".repeat(61) }] },
      "machines.0 (GPTBot) userAgent: ",
    ],
    ["a name twice", { version, machines: [gptBot, { ...newBot, name: "GPTBot" }] }, "machines.1 (GPTBot) name: "],
    ["a reserved name", { version, machines: [{ ...newBot, name: "other" }] }, "machines.0 (other) name: "],
    [
      "a word twice",
      { version, machines: [gptBot, { ...newBot, userAgent: "gptbot" }] },
      "machines.1 (NewBot) userAgent: ",
    ],
    [
      "an engine nobody knows",
      { version, machines: [{ ...gptBot, engine: "Nobody" }] },
      "machines.0 (GPTBot) engine: ",
    ],
    [
      "a person's user agent",
      { version, machines: [{ ...newBot, example: "Mozilla/5.0 Firefox/1" }] },
      "example: Must be a user agent",
    ],
    [
      "a word in the shadow of another",
      {
        version,
        machines: [
          { ...newBot, name: "All", userAgent: "bot", example: "x bot" },
          { ...newBot, userAgent: "New bot", example: "New bot" },
        ],
      },
      "machines.1 (NewBot) example: Must fit this entry first; it is of All",
    ],
    ["too many machines", { version, machines: Array.from({ length: 501 }, () => gptBot) }, "machines: "],
    ["too many bytes", " ".repeat(1_048_577), "has more than"],
  ])("refuses %s, and says where", async (_what, list, says) => {
    const { code, stderr } = await update(list);
    expect([code, stderr]).toEqual([1, expect.stringContaining(says)]);
  });
});
