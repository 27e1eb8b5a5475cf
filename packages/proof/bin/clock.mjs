// Loaded before an app: its clock differs from the machine's by the milliseconds in the file CLOCK_FILE. Timers go on as they are.
import { readFileSync, watchFile } from "node:fs";

const file = process.env.CLOCK_FILE;
const trueNow = Date.now;
let offsetMs = 0;
const read = () => {
  try {
    offsetMs = Number(readFileSync(file, "utf8")) || 0;
  } catch {
    offsetMs = 0;
  }
};
read();
watchFile(file, { persistent: false, interval: 100 }, read);
Date.now = () => trueNow() + offsetMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length > 0 ? args : [Date.now()], newTarget),
  apply: (target) => new target(Date.now()).toString(),
});
