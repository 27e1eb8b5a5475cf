import { allSlots, parseSlots, type Slots } from "@waymark/auth";
import { CommandError } from "../context/command-error.js";

/** The slots of the cell, by `CELL_SLOTS`; all of them without it. */
export function slotsOf(env: NodeJS.ProcessEnv): Slots {
  const text = env["CELL_SLOTS"];
  const slots = text ? parseSlots(text) : allSlots;
  if (!slots) throw new CommandError("CELL_SLOTS must be slots and ranges of them, such as 00-7f,a0.");
  return slots;
}
