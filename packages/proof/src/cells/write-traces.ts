import { createTraces, sendSpans } from "../disk/send-traces.js";

/** Traces of one round; senders work at once within it. */
const tracesPerRound = 40;

// Arguments: URL, key, seconds. Prints the acknowledged spans a second.
const [url = "", key = "", seconds = "1"] = process.argv.slice(2);
const start = performance.now();
const elapsed = () => (performance.now() - start) / 1_000;
let spans = 0;
while (elapsed() < Number(seconds))
  spans += await sendSpans({ url, key }, await createTraces({ url, key }, tracesPerRound));
process.stdout.write(String(spans / elapsed()));
