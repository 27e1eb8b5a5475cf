import { describe, expect, it } from "@jest/globals";
import { createRefusals } from "@waymark/http";
import { Registry } from "prom-client";
import { createReadShares } from "./read-shares.js";

describe("reads", () => {
  const open = (maxReading: number) => createReadShares({ refusals: createRefusals(new Registry()), maxReading });

  /** Makes works; `endNext` ends them in the order of their starts. */
  function createWorks() {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const work = (name: string) => () =>
      new Promise<string>((resolve) => {
        begun.push(name);
        ends.push(() => resolve(name));
      });
    const endNext = async () => {
      ends.shift()?.();
      for (let n = 0; n < 10; n++) await Promise.resolve();
    };
    return { begun, work, endNext };
  }

  it("go round between accounts, two of one at most", async () => {
    const shares = open(3);
    const { begun, work, endNext } = createWorks();
    const reads = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"].map((name) => shares.read(name.slice(0, 1), work(name)));
    expect(begun).toEqual(["a1", "a2", "b1"]);
    for (let n = 0; n < 7; n++) await endNext();
    expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
    expect(await Promise.all(reads)).toHaveLength(7);
  });

  it("are not done for a client that has left, and a read that fails makes room", async () => {
    const shares = open(1);
    const { begun, work, endNext } = createWorks();
    const first = shares.read("a", work("a1"));
    const left = shares.read("a", work("a2"), () => true);
    const failing = shares.read("a", () => Promise.reject(new Error("broken")));
    const last = shares.read("b", work("b1"));
    await Promise.all([endNext(), expect(left).rejects.toThrow("unavailable")]);
    await Promise.all([endNext(), expect(failing).rejects.toThrow("broken")]);
    expect(await Promise.all([first, last])).toEqual(["a1", "b1"]);
    expect(begun).toEqual(["a1", "b1"]);
  });

  it("wait in a bounded number over all accounts, and are refused above it with 503", async () => {
    const shares = open(1);
    const { work, endNext } = createWorks();
    const reads = Array.from({ length: 201 }, (_, n) => shares.read(`account ${n}`, work(`${n}`)));
    await expect(shares.read("one more", work("x"))).rejects.toMatchObject({ status: 503, code: "busy" });
    for (let n = 0; n < 201; n++) await endNext();
    expect(await Promise.all(reads)).toHaveLength(201);
  });
});
