import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { isbot } from "isbot";
import { machineList } from "./machine-list.schema.js";
import { createMachineNamer, loadMachines, unnamedMachine } from "./machines.js";
import { loadReferrers } from "./referrer-directory.js";

const { machines } = loadMachines();
const nameOf = createMachineNamer();

/** Of real browsers, the last one within an app. */
const browsers = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
  "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
  "Mozilla/5.0 (Linux; Android 14; CUBOT KINGKONG) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
];

describe("the list of machines", () => {
  it.each(machines.flatMap((machine) => (machine.userAgent === undefined ? [] : [[machine.name, machine] as const])))(
    "names %s by a real user agent",
    (name, machine) => {
      expect(nameOf(machine.example ?? null)).toEqual({ name, purpose: machine.purpose, machine });
    },
  );

  it("has each name and word once, and engines that referrers name", () => {
    const words = machines.flatMap(({ userAgent }) => userAgent?.toLowerCase() ?? []);
    expect(new Set(words).size).toBe(words.length);
    expect(new Set(machines.map(({ name }) => name)).size).toBe(machines.length);
    expect(machines.map(({ name }) => name)).not.toContain(unnamedMachine);
    const engines = machines.flatMap(({ engine }) => engine ?? []);
    for (const engine of engines) expect(loadReferrers().byName(engine)).toEqual({ name: engine, kind: "ai" });
  });

  it("refuses a list with a wrong entry", () => {
    const [first] = machines;
    expect(machineList.safeParse({ version: "2026-01-01", machines: [first] }).success).toBe(true);
    for (const wrong of [{ purpose: "fun" }, { ranges: ["10.0.0.0"] }, { source: "file:///etc" }, { more: 1 }]) {
      expect(machineList.safeParse({ version: "2026-01-01", machines: [{ ...first, ...wrong }] }).success).toBe(false);
    }
  });
});

describe("naming a machine", () => {
  it("leaves people, and requests without a user agent", () => {
    for (const browser of browsers) expect(nameOf(browser)).toBeNull();
    expect([nameOf(null), nameOf("")]).toEqual([null, null]);
  });

  it("counts bots outside the list as other", () => {
    expect(nameOf("NobodyKnowsThisBot/1.0")).toEqual({ name: unnamedMachine, purpose: "other", machine: undefined });
  });

  it("wants the word whole", () => {
    expect(nameOf("notGPTBot/1.0 (bot)")?.name).toBe(unnamedMachine);
    expect(nameOf("GPTBots/1.0 (bot)")?.name).toBe(unnamedMachine);
    expect(nameOf("x gptbot")?.name).toBe("GPTBot");
  });

  it("has a machine for each bot alone", () => {
    const text = fc.array(
      fc.oneof(fc.constantFrom(...browsers, ...machines.flatMap(({ userAgent }) => userAgent ?? [])), fc.string()),
    );
    fc.assert(
      fc.property(text, (parts) => {
        const userAgent = parts.join(" ");
        expect(nameOf(userAgent) !== null).toBe(isbot(userAgent));
      }),
    );
  });
});
