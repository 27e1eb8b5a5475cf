#!/usr/bin/env node
import { once } from "node:events";
import { readFileSync } from "node:fs";
// watcher.mjs REQUEST: sends a small request again and again until its parent asks for the outcome. A thread of its own answers
// the control requests, so a wait counts only as far as the machine itself was quicker. Nor counts the time in which the service's
// main thread waited for a processor that other programs had.
import { Agent, createServer, request } from "node:http";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

const pauseMs = 5;

if (isMainThread) await watch(JSON.parse(process.argv[2]));
else {
  const server = createServer((_request, response) => response.end("ok"));
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
}

async function watch({ url, headers, pid }) {
  const thread = new Worker(fileURLToPath(import.meta.url));
  const [port] = await once(thread, "message");
  const agent = new Agent({ keepAlive: true });
  const outcome = { asked: 0, longestMs: 0, excessMs: 0, failed: [] };
  const control = async () => (await ask(agent, `http://127.0.0.1:${port}/`, {})).ms;
  let isOver = false;
  process.once("message", () => (isOver = true));
  process.once("disconnect", () => process.exit(1));
  await control();
  process.send("watching");
  while (!isOver) {
    let isOpen = true;
    const controls = (async () => {
      let longest = 0;
      while (isOpen) {
        longest = Math.max(longest, await control());
        await setTimeout(pauseMs);
      }
      return longest;
    })();
    const unscheduled = unscheduledMs(pid);
    const { status, ms } = await ask(agent, url, headers);
    const own = ms - (unscheduledMs(pid) - unscheduled);
    isOpen = false;
    outcome.asked++;
    outcome.longestMs = Math.max(outcome.longestMs, ms);
    outcome.excessMs = Math.max(outcome.excessMs, own - (await controls));
    if (!(status >= 200 && status < 300) && outcome.failed.length < 20) outcome.failed.push(status);
  }
  process.send(outcome, () => process.exit(0));
}

/** The time that a ready main thread has waited for a processor; 0 where Linux does not tell. */
function unscheduledMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** Resolves with the answer's status, or with the error's code. */
function ask(agent, url, headers) {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const done = (status) => resolve({ status, ms: performance.now() - startedAt });
    request(url, { agent, headers }, (answer) => {
      answer.resume();
      answer.once("end", () => done(answer.statusCode));
      answer.once("error", ({ code }) => done(code));
    })
      .once("error", ({ code }) => done(code))
      .end();
  });
}
