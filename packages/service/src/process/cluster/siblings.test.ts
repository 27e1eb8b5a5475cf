import { describe, expect, it } from "@jest/globals";
import type { Told, ToMember } from "./messages.js";
import { createSiblings } from "./siblings.js";

/** Three processes and a primary between them that passes messages on when told to. */
function openThree() {
  const waiting: { from: number; told: readonly Told[] }[] = [];
  const members = [0, 1, 2].map((from) => createSiblings((told) => waiting.push({ from, told })));
  const pass = (to: number, message: ToMember) => members[to]?.receive(message);
  return {
    siblings: members.map(({ siblings }) => siblings),
    pass,
    /** Passes on what was told, once it was sent. */
    async deliver() {
      await new Promise((resolve) => setTimeout(resolve, 30));
      for (const { from, told } of waiting.splice(0)) {
        for (const to of [0, 1, 2]) if (to !== from) pass(to, { kind: "tell", from, told });
      }
    },
  };
}

describe("siblings", () => {
  it("hear what the others spend, added up and under its own name", async () => {
    const three = openThree();
    const heard: string[] = [];
    const [tell] = three.siblings.map((each, number) =>
      each.spend("rate", (key, amount) => heard.push(`${number} ${key} ${amount}`)),
    );
    three.siblings[1]?.spend("other", () => heard.push("never"));
    tell?.("a", 1);
    tell?.("a", 2);
    tell?.("b", 1);
    await three.deliver();
    expect(heard.sort()).toEqual(["1 a 3", "1 b 1", "2 a 3", "2 b 1"]);
  });

  it("add up what the others hold, until they hold less or end", async () => {
    const three = openThree();
    const [first, second, third] = three.siblings.map((each) => each.hold("hand"));
    first?.tell("a", 5);
    second?.tell("a", 2);
    second?.tell("b", 1);
    await three.deliver();
    expect([third?.of("a"), third?.total, first?.of("a"), first?.total]).toEqual([7, 8, 2, 3]);
    first?.tell("a", 4);
    await three.deliver();
    expect([third?.of("a"), third?.total]).toEqual([6, 7]);
    three.pass(2, { kind: "gone", from: 0 });
    expect([third?.of("a"), third?.total]).toEqual([2, 3]);
  });

  it("tell a process that has just started all that they hold", async () => {
    const three = openThree();
    const [first, second] = three.siblings.map((each) => each.hold("hand"));
    first?.tell("a", 5);
    await three.deliver();
    three.pass(1, { kind: "gone", from: 0 });
    expect(second?.total).toBe(0);
    three.pass(0, { kind: "joined" });
    await three.deliver();
    expect(second?.of("a")).toBe(5);
  });
});
