import { expect, it } from "@jest/globals";
import { createClock } from "./context.js";

it("tells UTC with microseconds, and never goes back", () => {
  const before = Date.now();
  const clock = createClock();
  const times = Array.from({ length: 2_000 }, clock);
  const after = Date.now();
  for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect([...times].sort()).toEqual(times);
  // Between the times that the system told around it, to the millisecond that it is rounded to.
  const told = times.map((time) => Date.parse(time));
  expect(Math.min(...told)).toBeGreaterThanOrEqual(before - 1);
  expect(Math.max(...told)).toBeLessThanOrEqual(after + 1);
});
