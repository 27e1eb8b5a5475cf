import { describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { allSlots, cellSlotsVariable, drawSlot, parseSlots } from "./slots.js";

describe("slots", () => {
  it("are 256, of two hexadecimal digits", () => {
    expect(allSlots.size).toBe(256);
    for (const slot of allSlots) expect(slot).toMatch(/^[0-9a-f]{2}$/);
  });

  it("are read one by one and as ranges", () => {
    expect([...(parseSlots("0e-11, a0,10") ?? [])]).toEqual(["0e", "0f", "10", "11", "a0"]);
    expect(parseSlots("00-ff")).toEqual(allSlots);
  });

  it.each(["", "0", "000", "A0", "g0", "10-0f", "00-", "00,,01", "00-01-02", "*"])("are not read from %j", (text) => {
    expect(parseSlots(text)).toBeUndefined();
    const result = z.object({ CELL_SLOTS: cellSlotsVariable() }).safeParse({ CELL_SLOTS: text });
    expect(result.error?.issues).toMatchObject([{ path: ["CELL_SLOTS"], message: expect.stringContaining("00-7f") }]);
  });

  it("are all of them without a setting", () => {
    expect(cellSlotsVariable().parse(undefined)).toEqual(allSlots);
  });

  it("are drawn from those of the cell", () => {
    const drawn = new Set(Array.from({ length: 1_000 }, () => drawSlot(new Set(["0a", "f1"]))));
    expect([...drawn].sort()).toEqual(["0a", "f1"]);
  });
});
