import { expect, it } from "@jest/globals";
import { createClock } from "./clock.js";

it("tells UTC with microseconds, and never goes back", () => {
  const clock = createClock();
  const times = Array.from({ length: 2_000 }, clock);
  for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect([...times].sort()).toEqual(times);
  expect(Math.abs(Date.parse(times[0] ?? "") - Date.now())).toBeLessThan(1_000);
});
