import { describe, expect, it } from "@jest/globals";
import { Registry } from "prom-client";
import { createRefusals } from "./shares.js";
import { createWorkShares } from "./work-shares.js";

describe("tasks", () => {
  const open = (maxRunning: number, more: { maxWaitMs?: number } = {}) => {
    const limits = { tasks: "reads", owner: "account", maxRunningPerOwner: 2, maxWaiting: 200, maxWaitingPerOwner: 8 };
    return createWorkShares({ ...limits, maxRunning, maxWaitMs: 3_000, ...more }, createRefusals(new Registry()));
  };

  /** Makes tasks; `endNext` ends them in the order of their starts. */
  function createTasks() {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const task = (name: string) => () =>
      new Promise<string>((resolve) => {
        begun.push(name);
        ends.push(() => resolve(name));
      });
    const endNext = async () => {
      ends.shift()?.();
      for (let n = 0; n < 10; n++) await Promise.resolve();
    };
    return { begun, task, endNext };
  }

  it("go round between owners, two of one at most", async () => {
    const shares = open(3);
    const { begun, task, endNext } = createTasks();
    const tasks = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"].map((name) => shares.run(name.slice(0, 1), task(name)));
    expect(begun).toEqual(["a1", "a2", "b1"]);
    for (let n = 0; n < 7; n++) await endNext();
    expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
    expect(await Promise.all(tasks)).toHaveLength(7);
  });

  it("are not done for a client that has left, and one that fails makes room", async () => {
    const shares = open(1);
    const { begun, task, endNext } = createTasks();
    const first = shares.run("a", task("a1"));
    const left = shares.run("a", task("a2"), () => true);
    const failing = shares.run("a", () => Promise.reject(new Error("broken")));
    const last = shares.run("b", task("b1"));
    await Promise.all([endNext(), expect(left).rejects.toThrow("unavailable")]);
    await Promise.all([endNext(), expect(failing).rejects.toThrow("broken")]);
    expect(await Promise.all([first, last])).toEqual(["a1", "b1"]);
    expect(begun).toEqual(["a1", "b1"]);
  });

  it("wait in a bounded number of an owner, refused above it with 429 for that owner alone", async () => {
    const shares = open(2);
    const { task, endNext } = createTasks();
    const tasks = Array.from({ length: 10 }, (_, n) => shares.run("a", task(`a${n}`)));
    const reason = "An account has at most 2 reads under way and 8 waiting, each for at most 3 s";
    const refused = { status: 429, body: { error: "Too much in progress for this account", reason } };
    await expect(shares.run("a", task("x"))).rejects.toMatchObject(refused);
    tasks.push(shares.run("b", task("b1")));
    for (let n = 0; n < 11; n++) await endNext();
    expect(await Promise.all(tasks)).toHaveLength(11);
  });

  it("wait in a bounded number over all owners, and are refused above it with 503", async () => {
    const shares = open(1);
    const { task, endNext } = createTasks();
    const tasks = Array.from({ length: 201 }, (_, n) => shares.run(`account ${n}`, task(`${n}`)));
    await expect(shares.run("one more", task("x"))).rejects.toMatchObject({ status: 503, code: "busy" });
    for (let n = 0; n < 201; n++) await endNext();
    expect(await Promise.all(tasks)).toHaveLength(201);
  });

  it("give up after too long a wait, and make room", async () => {
    const shares = open(1, { maxWaitMs: 1 });
    const { task, endNext } = createTasks();
    const first = shares.run("a", task("a1"));
    await expect(shares.run("b", task("b1"))).rejects.toMatchObject({ status: 503 });
    await endNext();
    await first;
    const third = shares.run("b", task("b2"));
    await endNext();
    expect(await third).toBe("b2");
  });
});
