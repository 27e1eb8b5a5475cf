// ledger.mjs API KEY STOP-FILE: makes traces until the file exists, then reads each acknowledged one. Ends with 1 if one is
// missing, or if no write was acknowledged for 25 seconds.
import { existsSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

const [api, key, stopFile] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
const longestPauseMs = 25_000;
const acknowledged = [];
const answers = {};
let [lastAt, pauseMs] = [Date.now(), 0];

async function ask(path, method = "GET", body = undefined) {
  const options = { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(15_000) };
  try {
    const answer = await fetch(`${api}${path}`, options);
    return { status: answer.status, body: await answer.json() };
  } catch (error) {
    return { status: error.cause?.code ?? error.name };
  }
}

async function write() {
  while (!existsSync(stopFile)) {
    const body = { agent_id: "ledger", name: "write", status: "running", started_at: new Date().toISOString() };
    const made = await ask("/traces", "POST", body);
    answers[made.status] = (answers[made.status] ?? 0) + 1;
    if (made.status !== 201) {
      await wait(200);
      continue;
    }
    acknowledged.push(made.body.trace_id);
    pauseMs = Math.max(pauseMs, Date.now() - lastAt);
    lastAt = Date.now();
  }
}

await Promise.all(Array.from({ length: 8 }, write));
const missing = [];
for (const id of acknowledged) if ((await ask(`/traces/${id}`)).status !== 200) missing.push(id);
await ask(`/traces/${acknowledged.at(-1)}`, "PATCH", { status: "error", ended_at: new Date().toISOString() });
console.log(`Acknowledged: ${acknowledged.length}, missing: ${missing.length}. Answers: ${JSON.stringify(answers)}`);
console.log(`Longest pause without an acknowledged write: ${(pauseMs / 1000).toFixed(1)} s`);
process.exit(missing.length > 0 || pauseMs > longestPauseMs ? 1 : 0);
