import { setImmediate, setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { createGroupCommit } from "./group-commit.js";
import { type BatchOptions, rowIsLocked } from "./options.js";

interface OwnedRow {
  readonly accountId: string;
}

const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** Adds rows of accounts; the error of a refusal names the limit. */
function adder<Row extends OwnedRow, Result>(options: Omit<BatchOptions<Row, Result>, "name">) {
  const queue = createGroupCommit<Row, Result>({
    name: "tested",
    ...options,
    ownerOf: ({ accountId }) => accountId,
    refuse: ({ limit, scope, max }) => new Error(`${scope} ${limit} ${max}`),
  });
  return (row: Row) => queue.add(row);
}

describe("rows of several accounts", () => {
  /** A queue with its first statement in flight until `letGo`; `statements` lists the rows of each statement. */
  const held = <Row extends OwnedRow & { count?: number }>(options: Partial<BatchOptions<Row, void>> = {}) => {
    const statements: Row[][] = [];
    let letGo: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const add = adder<Row, void>({
      run: async (rows) => {
        statements.push([...rows]);
        if (statements.length === 1) await isHeld;
        return rows.map(() => undefined);
      },
      countOf: ({ count = 1 }) => count,
      ...options,
    });
    return { add, statements, letGo };
  };
  const untilOut = async (statements: unknown[]) => {
    while (statements.length === 0) await setTimeout(1);
  };

  it("go out in turns: a row waits for one statement of others, whatever these have waiting", async () => {
    const { add, statements, letGo } = held<{ accountId: string; count: number }>({ maxRows: 1_000 });
    const heavy = ["a", "b", "c"].flatMap((accountId) => times(10, () => add({ accountId, count: 1_000 })));
    await untilOut(statements);
    const light = times(3, (n) => add({ accountId: `light ${n}`, count: 1 }));
    letGo();
    await Promise.all(light);
    expect(statements[1]?.map(({ accountId }) => accountId)).toEqual(["b", "light 0", "light 1", "light 2"]);
    await Promise.all(heavy);
    // The heavy ones take turns with each other as well.
    const order = statements.flat().flatMap(({ accountId }) => (accountId.startsWith("light") ? [] : [accountId]));
    for (let n = 3; n < 30; n += 3) expect(new Set(order.slice(n, n + 3))).toEqual(new Set(["a", "b", "c"]));
  });

  it("share a statement evenly, and keep the order of each account", async () => {
    const { add, statements, letGo } = held<{ accountId: string; n: number }>();
    const first = add({ accountId: "a", n: -1 });
    await untilOut(statements);
    const rows = [...times(400, (n) => ({ accountId: "a", n })), ...times(100, (n) => ({ accountId: "b", n }))];
    const all = rows.map((row) => add(row));
    letGo();
    await Promise.all([first, ...all]);
    const second = statements[1] ?? [];
    expect(second).toHaveLength(256);
    expect(second.filter(({ accountId }) => accountId === "b")).toHaveLength(100);
    for (const accountId of ["a", "b"]) {
      const order = statements
        .slice(1)
        .flat()
        .filter((row) => row.accountId === accountId);
      expect(order.map(({ n }) => n)).toEqual(times(order.length, (n) => n));
    }
  });

  it("leave statements free for others where one account may have so many in flight", async () => {
    const running: string[] = [];
    const ends: (() => void)[] = [];
    const add = adder<{ accountId: string }, void>({
      maxInFlight: 3,
      maxInFlightPerOwner: 2,
      maxRows: 1,
      run: async ([row]) => {
        running.push(row?.accountId ?? "");
        await new Promise<void>((resolve) => ends.push(resolve));
        return [undefined];
      },
    });
    const all = [..."aaaaab"].map((accountId) => add({ accountId }));
    await setImmediate();
    expect(running).toEqual(["a", "b", "a"]);
    while (ends.length > 0) {
      ends.shift()?.();
      await setImmediate();
      await setImmediate();
    }
    await Promise.all(all);
    expect(running).toHaveLength(6);
  });
});

describe("limits", () => {
  it("count a row as what it carries: 1,000 to a statement but for one alone, and 12,500 of an account that wait", async () => {
    const statements: number[][] = [];
    const add = adder<{ accountId: string; count: number }, void>({
      run: async (rows) => {
        await setTimeout(1);
        statements.push(rows.map(({ count }) => count));
        return rows.map(() => undefined);
      },
      maxRows: 1_000,
      countOf: ({ count }) => count,
    });
    const counts = [1, 600, 400, 1_500, 999, 1, 1, ...times(8, () => 1_000), 998];
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(12_500);
    const results = await Promise.allSettled([...counts, 1].map((count) => add({ accountId: "a", count })));
    expect(results.map(({ status }) => status)).toEqual([...counts.map(() => "fulfilled"), "rejected"]);
    expect(statements).toEqual([[1, 600], [400], [1_500], [999, 1], [1], ...times(8, () => [1_000]), [998]]);
  });

  it("refuse rows beyond 8 MiB of an account's JSON that wait, and put at most 1 MiB into a statement", async () => {
    const statements: number[] = [];
    const add = adder<{ accountId: string; bytes: number }, void>({
      run: async (rows) => {
        await setTimeout(1);
        statements.push(rows.reduce((sum, { bytes }) => sum + bytes, 0));
        return rows.map(() => undefined);
      },
      bytesOf: ({ bytes }) => bytes,
    });
    const size = 400 * 1_024;
    const results = await Promise.allSettled(times(100, () => add({ accountId: "a", bytes: size })));
    const taken = results.filter(({ status }) => status === "fulfilled");
    expect(taken).toHaveLength(Math.floor((8 * 1_048_576) / size));
    expect(Math.max(...statements)).toBe(2 * size);
    await add({ accountId: "a", bytes: 60 * 1_048_576 });
  });
});

describe("locked rows", () => {
  it("wait for a lock apart: locked rows delay no others, and later changes come after them", async () => {
    const done: string[] = [];
    let unlock: () => void = () => undefined;
    const isUnlocked = new Promise<void>((resolve) => {
      unlock = resolve;
    });
    const add = adder<{ accountId: string; target: string; n: number }, string>({
      targetOf: ({ target }) => target,
      run: async (rows) =>
        rows.map(({ target, n }) => {
          if (target === "locked" && n === 1) return rowIsLocked;
          done.push(`${target} ${n}`);
          return "at once";
        }),
      runLocked: async (rows) => {
        await isUnlocked;
        done.push(...rows.map(({ target, n }) => `${target} ${n}`));
        return rows.map(() => "waited");
      },
    });
    const first = add({ accountId: "a", target: "locked", n: 1 });
    const later = add({ accountId: "a", target: "locked", n: 2 });
    expect(await Promise.all([1, 2, 3].map((n) => add({ accountId: "a", target: "free", n })))).toEqual(
      times(3, () => "at once"),
    );
    expect(await add({ accountId: "b", target: "other", n: 1 })).toBe("at once");
    unlock();
    expect(await first).toBe("waited");
    expect(await later).toBe("at once");
    expect(done).toEqual(["free 1", "free 2", "free 3", "other 1", "locked 1", "locked 2"]);
  });

  /** Owners whose lock another transaction has; `statements` lists what `run` and `runLocked` stored. */
  const lockable = (options: Partial<BatchOptions<OwnedRow & { n: number }, void>> = {}) => {
    const locked = new Set<string>();
    const statements: string[] = [];
    const attempts: string[] = [];
    const store = async (rows: readonly (OwnedRow & { n: number })[]) => {
      await setImmediate();
      const free = rows.filter(({ accountId }) => !locked.has(accountId));
      if (free.length > 0) statements.push(free.map(({ accountId, n }) => `${accountId}${n}`).join(" "));
      return rows.map(({ accountId }) => (locked.has(accountId) ? rowIsLocked : undefined));
    };
    const add = adder<OwnedRow & { n: number }, void>({
      targetOf: ({ accountId }) => accountId,
      sharesTargets: true,
      run: store,
      runLocked: async (rows) => {
        attempts.push(rows.map(({ accountId, n }) => `${accountId}${n}`).join(" "));
        return store(rows);
      },
      giveUp: () => undefined,
      ...options,
    });
    return { add, locked, statements, attempts };
  };

  it("of one target share statements, keep their order and are tried until the lock is free", async () => {
    const { add, locked, statements, attempts } = lockable();
    locked.add("a");
    const first = times(3, (n) => add({ accountId: "a", n }));
    await add({ accountId: "b", n: 0 });
    const later = times(2, (n) => add({ accountId: "a", n: 3 + n }));
    await add({ accountId: "b", n: 1 });
    while (attempts.length < 3) await setImmediate();
    locked.delete("a");
    await Promise.all([...first, ...later]);
    expect(new Set(attempts)).toEqual(new Set(["a0 a1 a2"]));
    expect(statements).toEqual(["b0", "b1", "a0 a1 a2", "a3 a4"]);
  });

  it("are refused together with later rows of their target that have waited as long", async () => {
    let isLate = false;
    const { add, locked, statements, attempts } = lockable({
      giveUp: ({ n }) => (isLate && n < 2 ? new Error("locked for too long") : undefined),
    });
    locked.add("a");
    const first = add({ accountId: "a", n: 0 });
    await add({ accountId: "b", n: 0 });
    const later = Promise.allSettled([add({ accountId: "a", n: 1 }), add({ accountId: "a", n: 2 })]);
    isLate = true;
    await expect(first).rejects.toThrow("locked for too long");
    locked.delete("a");
    expect((await later).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(new Set(attempts)).toEqual(new Set(["a0"]));
    expect(statements).toEqual(["b0", "a2"]);
  });

  it("are refused when they have waited long enough, also while all lock waits are taken", async () => {
    let isLate = false;
    const { add, locked, statements } = lockable({
      maxLockWaits: 1,
      giveUp: ({ n }) => (isLate && n < 2 ? new Error("locked for too long") : undefined),
    });
    for (const accountId of ["a", "b", "c"]) locked.add(accountId);
    const results = Promise.allSettled(["a", "b", "c"].flatMap((accountId) => [add({ accountId, n: 1 })]));
    const patient = add({ accountId: "c", n: 2 });
    await add({ accountId: "d", n: 1 });
    isLate = true;
    expect((await results).map(({ status }) => status)).toEqual(times(3, () => "rejected"));
    locked.clear();
    await patient;
    expect(statements).toEqual(["d1", "c2"]);
  });
});

describe("a failed batch", () => {
  const failing = (retry: "by-owner" | "in-halves") => {
    const statements: number[][] = [];
    let inFlight = 0;
    let most = 0;
    const add = adder<OwnedRow & { n: number }, number>({
      retry,
      run: async (rows) => {
        statements.push(rows.map(({ n }) => n));
        most = Math.max(most, ++inFlight);
        await setImmediate();
        inFlight--;
        if (rows.some(({ n }) => n === 5)) throw new Error("bad row");
        return rows.map(({ n }) => n);
      },
    });
    return { add, statements, mostInFlight: () => most };
  };
  const addAll = (add: (row: OwnedRow & { n: number }) => Promise<number>) =>
    Promise.allSettled(times(8, (n) => add({ accountId: n < 4 ? "a" : "b", n })));
  const expected = times(8, (n) => (n === 5 ? { reason: new Error("bad row") } : { value: n }));

  it("is tried again by owner and then row by row, all at once", async () => {
    const { add, statements, mostInFlight } = failing("by-owner");
    expect(await addAll(add)).toMatchObject(expected);
    expect(statements).toEqual([[0, 4, 1, 5, 2, 6, 3, 7], [0, 1, 2, 3], [4, 5, 6, 7], [4], [5], [6], [7]]);
    expect(mostInFlight()).toBe(4);
  });

  it("is halved until the bad row is alone, one half after the other", async () => {
    const { add, statements, mostInFlight } = failing("in-halves");
    expect(await addAll(add)).toMatchObject(expected);
    expect(statements.map(({ length }) => length)).toEqual([8, 4, 2, 2, 1, 1, 4]);
    expect(mostInFlight()).toBe(1);
  });
});
