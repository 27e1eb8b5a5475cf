// Loaded before an app: SIGUSR2 collects all garbage and writes how many bytes remain to the file HEAP_FILE.
import { writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");
process.on("SIGUSR2", () => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(process.env.HEAP_FILE, String(heapUsed + external));
});
