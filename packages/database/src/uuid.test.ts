import { describe, expect, it } from "@jest/globals";
import { createUuidV7, isUuid, uuidV7Floor } from "./uuid.js";

describe("createUuidV7", () => {
  it("makes version 7 UUIDs that carry the millisecond", () => {
    const id = createUuidV7(() => 0x0123456789ab)();
    expect(id).toMatch(/^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(isUuid(id)).toBe(true);
  });

  it("sorts a million ids in the order they were made, also when the clock stands still or goes back", () => {
    let calls = 0;
    const next = createUuidV7(() => 1_000_000 - Math.floor(calls++ / 400_000));
    let last = "";
    const isSorted = Array.from({ length: 1_000_000 }, next).every((id) => {
      const isLater = id > last;
      last = id;
      return isLater;
    });
    expect(isSorted).toBe(true);
  });
});

describe("createUuidV7, when the clock was ahead", () => {
  it("follows it back, and makes no id twice", () => {
    let millis = 1_700_003_600_000;
    const next = createUuidV7(() => millis);
    const early = Array.from({ length: 10_000 }, next);
    millis = 1_700_000_000_000;
    const right = Array.from({ length: 10_000 }, next);
    for (const id of right) {
      expect(id >= uuidV7Floor(millis)).toBe(true);
      expect(id < uuidV7Floor(millis + 1)).toBe(true);
    }
    millis = 1_700_003_600_000;
    const late = Array.from({ length: 10_000 }, next);
    expect(new Set([...early, ...right, ...late]).size).toBe(30_000);
  });

  it("keeps the order of ids while it is adjusted by up to two seconds", () => {
    let millis = 1_700_000_000_000;
    const next = createUuidV7(() => millis);
    const before = next();
    millis -= 2_000;
    expect(next() > before).toBe(true);
    millis -= 1;
    expect(next() < before).toBe(true);
  });
});

describe("uuidV7Floor", () => {
  it("is not above any id of its millisecond and above every id before it", () => {
    const at = (millis: number) => createUuidV7(() => millis)();
    expect(uuidV7Floor(1_700_000_000_000) <= at(1_700_000_000_000)).toBe(true);
    expect(uuidV7Floor(1_700_000_000_000) > at(1_699_999_999_999)).toBe(true);
  });
});

describe("isUuid", () => {
  it.each(["", "not-a-uuid", "01234567-89ab-7000-8000-00000000000", "{01234567-89ab-7000-8000-000000000000}"])(
    "refuses %j",
    (text) => expect(isUuid(text)).toBe(false),
  );
});
