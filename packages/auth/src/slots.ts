import { randomInt } from "node:crypto";
import { z } from "zod";

/** Parts of all accounts: two hexadecimal digits each. A cell has the accounts of its slots. */
export type Slots = ReadonlySet<string>;

/** The slot of keys and cookies from before slots. */
export const firstSlot = "00";

const slotCount = 256;

const nameOf = (number: number) => number.toString(16).padStart(2, "0");

export const allSlots: Slots = new Set(Array.from({ length: slotCount }, (_, number) => nameOf(number)));

/** Reads slots and ranges of them, such as `00-7f,a0`; undefined where the text is something else. */
export function parseSlots(text: string): Slots | undefined {
  const slots = new Set<string>();
  for (const part of text.split(",")) {
    const [, first, last = first] = /^([0-9a-f]{2})(?:-([0-9a-f]{2}))?$/.exec(part.trim()) ?? [];
    if (first === undefined || last === undefined || first > last) return undefined;
    for (const slot of allSlots) if (slot >= first && slot <= last) slots.add(slot);
  }
  return slots;
}

export function drawSlot(slots: Slots = allSlots): string {
  return [...slots][randomInt(slots.size)] ?? firstSlot;
}

/** An address of an account's own: `{slot}` in it stands for the account's slot, so a proxy finds the cell by the host. */
export function addressOf(url: string, slot: string): string {
  return url.replaceAll("{slot}", slot);
}

/** The variable `CELL_SLOTS`: the slots of an instance's cell, all of them by default. */
export function cellSlotsVariable() {
  return z
    .string()
    .transform((text, context) => {
      const slots = parseSlots(text);
      if (slots) return slots;
      context.addIssue("must be slots and ranges of them, such as 00-7f,a0");
      return z.NEVER;
    })
    .default(allSlots);
}
