import { describe, expect, it } from "@jest/globals";
import { createKeptLists, maxKept } from "./kept-lists.js";
import type { TraceListState } from "./trace-list.js";

const place = { rows: 50, id: "a", top: 20, scrollY: 600 };

function start() {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, text: string) => void stored.set(key, text),
  };
  return { stored, make: () => createKeptLists(() => storage) };
}

describe("the kept lists", () => {
  it("are the latest ones, and their places stay for the tab's next document", () => {
    const { make } = start();
    const kept = make();
    for (let n = 0; n <= maxKept; n++) {
      kept.keepState(`list ${n}`, { rows: [] } as unknown as TraceListState);
      kept.keepPlace(`list ${n}`, { ...place, scrollY: n });
      if (n === maxKept - 1) kept.keepState("list 0", { rows: [] } as unknown as TraceListState);
    }
    const numbers = Array.from({ length: maxKept + 1 }, (_, n) => n);
    expect(numbers.filter((n) => kept.stateOf(`list ${n}`) !== undefined)).toEqual([0, 2, 3, 4]);
    const next = make();
    expect(numbers.map((n) => next.placeOf(`list ${n}`)?.scrollY)).toEqual([undefined, 1, 2, 3, 4]);
    expect(next.stateOf("list 1")).toBeUndefined();
  });

  it("have no place where the browser has no storage, or another one's text in it", () => {
    const none = createKeptLists(() => {
      throw new Error("denied");
    });
    none.keepPlace("list", place);
    expect(none.placeOf("list")).toBeUndefined();
    const { stored, make } = start();
    stored.set("waymark.places", "{");
    expect(make().placeOf("list")).toBeUndefined();
  });
});
