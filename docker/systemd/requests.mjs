// requests.mjs PORT STOP-FILE LEAST FAILURES TRACE-KEY STATS-KEY SITE: asks the services through nginx, as five senders, each
// request once, until the file exists and LEAST requests are made. Prints the answers by kind, then reads every acknowledged run,
// step and page view. Ends with 1 if one is missing, or if another answer than a success came, but for FAILURES at most, of
// delivered POSTs and PATCHes alone.
import { existsSync } from "node:fs";
import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

const [port, stopFile, least, allowed, traceKey, statsKey, site] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const counts = {};
const failures = [];
const runs = [];
let views = 0;
let total = 0;

function ask(host, key, method, path, body) {
  const headers = {
    Host: `${host}.example.com`,
    "Content-Type": "application/json",
    "User-Agent": "Mozilla/5.0 Firefox/127.0",
  };
  if (key) headers.Authorization = `Bearer ${key}`;
  return new Promise((resolve) => {
    const sent = request({ port, agent, method, path, headers, timeout: 60_000 }, async (answer) => {
      let text = "";
      for await (const part of answer) text += part;
      resolve({
        status: answer.statusCode,
        text,
        type: answer.headers["content-type"],
        retryAfter: answer.headers["retry-after"],
      });
    });
    sent.on("error", (error) => resolve({ status: error.code, text: "" }));
    sent.end(body && JSON.stringify(body));
  });
}

async function send(kind, expected, ...rest) {
  const answer = await ask(...rest);
  counts[kind] = (counts[kind] ?? 0) + 1;
  total++;
  if (answer.status === expected) return answer;
  failures.push({ at: new Date().toISOString(), kind, ...answer });
  return undefined;
}

async function sender(number) {
  let rounds = 0;
  const [traces, at] = ["/api/v1/traces", () => new Date().toISOString()];
  while (total < Number(least) || !existsSync(stopFile)) {
    const made = await send("create", 201, "traces", traceKey, "POST", traces, {
      agent_id: "upgrade",
      name: "run",
      status: "running",
      started_at: at(),
    });
    if (made) {
      const { trace_id: id } = JSON.parse(made.text);
      const step = { name: "step", status: "ok", started_at: at(), ended_at: at() };
      const span = await send("span", 201, "traces", traceKey, "POST", `${traces}/${id}/spans`, step);
      const ended = await send("finalize", 200, "traces", traceKey, "PATCH", `${traces}/${id}`, {
        status: "success",
        ended_at: at(),
      });
      await send("read", 200, "traces", traceKey, "GET", `${traces}/${id}`);
      runs.push({ id, hasSpan: Boolean(span), isEnded: Boolean(ended) });
    }
    const view = { name: "pageview", url: `https://upgrade.example/${number}`, domain: "upgrade.example" };
    if (await send("page view", 202, "collect", "", "POST", "/api/event", view)) views++;
    await send("page", 200, "waymark", "", "GET", "/dashboard/sign-in");
    // Its key has 60 requests a minute.
    if (number === 1 && ++rounds % 8 === 0)
      await send("statistics", 200, "stats", statsKey, "GET", `/api/v1/sites/${site}/stats?range=7d`);
    await wait(100);
  }
}

await Promise.all([1, 2, 3, 4, 5].map(sender));
let missing = 0;
for (const { id, hasSpan, isEnded } of runs) {
  const { status, text } = await ask("traces", traceKey, "GET", `/api/v1/traces/${id}`);
  const run = status === 200 ? JSON.parse(text) : { spans: [] };
  if (status !== 200 || (hasSpan && run.spans.length !== 1) || (isEnded && run.status !== "success")) missing++;
}
const stored = JSON.parse((await ask("stats", statsKey, "GET", `/api/v1/sites/${site}/stats?range=7d`)).text).pageviews;
console.log(`${total} requests, ${failures.length} failed: ${JSON.stringify(counts)}`);
for (const failure of failures.slice(0, 20)) console.log(`  ${JSON.stringify(failure)}`);
console.log(
  `Acknowledged: ${runs.length} runs, ${missing} of them incomplete; ${views} page views, ${stored} stored with those before.`,
);
const isExpected = ({ kind, status, retryAfter }) =>
  /create|span|finalize|page view/.test(kind) && status === 503 && retryAfter === "5";
const isWrong = failures.length > Number(allowed) || !failures.every(isExpected) || missing > 0 || stored < views;
process.exit(isWrong ? 1 : 0);
