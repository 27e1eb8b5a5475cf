import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createUuidV7 } from "@waymark/database";
import { percentile } from "@waymark/local/figures";
import pg from "pg";
import type { Stage, Subject } from "./measure.js";
import { type Operation, requestsOf } from "./scenario.js";

/** Samples of each kind in a round, taken in turns, so a disturbance hits all kinds. */
const samplesPerRound = 200;
const roundsAtLeast = 8;
const roundsAtMost = 60;
/** Rounds go on until the quartiles of the ratio are this close together. */
const spreadWanted = 0.05;
const ratioWanted = 1.25;

type Task = () => Promise<unknown>;
type Kind = "health" | "insert" | "span insert" | "create" | "span";
type Durations = Record<Kind, number>;

const insertTrace = {
  name: "bare-trace",
  text: `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, metadata) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
};
const insertSpan = {
  name: "bare-span",
  text: `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

/** Measures single requests of one connection beside a bare prepared INSERT of the same row and `GET /health`. */
export async function latency(stage: Stage, { process }: Subject, databaseUrl: string): Promise<string> {
  await stage.pool.query("UPDATE trace_usage SET traces = -1000000000");
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const socket = connect({ port: process.port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  const tasks = prepareTasks(stage, client, socket);
  const rounds: Durations[] = [];
  await measureRound(tasks);
  while (rounds.length < roundsAtMost) {
    rounds.push(await measureRound(tasks));
    if (
      rounds.length >= roundsAtLeast &&
      Math.max(spreadOf(createRatios(rounds)), spreadOf(spanRatios(rounds))) <= spreadWanted
    )
      break;
  }
  socket.destroy();
  await client.end();
  return report(rounds);
}

function prepareTasks(stage: Stage, client: pg.Client, socket: Socket): Record<Kind, Task> {
  const uuid = createUuidV7();
  const [account] = stage.accounts;
  if (!account) throw new Error("There are no accounts");
  const bodyOf = (operation: Operation) => JSON.parse(String(requestsOf(operation, [account], 0, 1)[0]?.body));
  const [trace, span] = [bodyOf("create"), bodyOf("span")];
  const json = (value: unknown) => JSON.stringify(value);
  return {
    health: asking(socket, "GET /health HTTP/1.1\r\nHost: waymark\r\n\r\n"),
    insert: () =>
      client.query({
        ...insertTrace,
        values: [account.id, uuid(), trace.agent_id, trace.name, trace.status, trace.started_at, json(trace.metadata)],
      }),
    "span insert": () =>
      client.query({
        ...insertSpan,
        values: [
          ...[account.id, account.traces[1], uuid(), span.name, span.status, span.started_at, span.ended_at],
          ...[json(span.input), json(span.output)],
        ],
      }),
    create: asking(socket, textOf("create")),
    span: asking(socket, textOf("span")),
  };

  function textOf(operation: Operation): string {
    const [request] = requestsOf(operation, account ? [account] : [], 0, 1);
    const body = String(request?.body);
    const headers = Object.entries({ Host: "waymark", ...request?.headers, "Content-Length": Buffer.byteLength(body) });
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    return `${request?.method} ${request?.path} HTTP/1.1\r\n${lines}\r\n${body}`;
  }
}

/** Sends one request and waits for its whole answer, which is short and has a `Content-Length`. */
function asking(socket: Socket, text: string): Task {
  const bytes = Buffer.from(text);
  return () =>
    new Promise<void>((resolve, reject) => {
      let answer = "";
      const read = (chunk: Buffer) => {
        answer += chunk.toString("latin1");
        const end = answer.indexOf("\r\n\r\n");
        const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
        if (end < 0 || answer.length < end + 4 + length) return;
        socket.off("data", read);
        if (/^HTTP\/1.1 20[01] /.test(answer)) resolve();
        else reject(new Error(answer));
      };
      socket.on("data", read);
      socket.write(bytes);
    });
}

async function measureRound(tasks: Record<Kind, Task>): Promise<Durations> {
  const kinds = Object.keys(tasks) as Kind[];
  const seen = Object.fromEntries(kinds.map((kind) => [kind, [] as number[]])) as Record<Kind, number[]>;
  for (let sample = 0; sample < samplesPerRound; sample++) {
    for (const kind of kinds) {
      const startedAt = performance.now();
      await tasks[kind]();
      seen[kind].push((performance.now() - startedAt) * 1_000);
    }
  }
  return Object.fromEntries(kinds.map((kind) => [kind, percentile(seen[kind], 0.5)])) as Durations;
}

function createRatios(rounds: readonly Durations[]): number[] {
  return rounds.map((each) => each.create / (each.health + each.insert));
}

function spanRatios(rounds: readonly Durations[]): number[] {
  return rounds.map((each) => each.span / (each.health + each["span insert"]));
}

function spreadOf(values: readonly number[]): number {
  return (percentile(values, 0.75) - percentile(values, 0.25)) / percentile(values, 0.5);
}

function report(rounds: readonly Durations[]): string {
  const line = (kind: Kind) => {
    const values = rounds.map((each) => each[kind]);
    return `${kind.padEnd(12)} p50 ${percentile(values, 0.5).toFixed(0).padStart(5)} us`;
  };
  const ratio = (title: string, values: readonly number[]) => {
    const [low, half, high] = [0.25, 0.5, 0.75].map((share) => percentile(values, share).toFixed(2));
    const verdict = spreadOf(values) <= spreadWanted ? "" : "; the spread is too wide to say so";
    return `${title} ${half} (quartiles ${low} to ${high}; wanted at most ${ratioWanted}${verdict})`;
  };
  const kinds: Kind[] = ["health", "insert", "create", "span insert", "span"];
  return [
    `One connection, Node ${process.versions.node}, ${rounds.length} rounds of ${samplesPerRound} requests of each kind in turns`,
    ...kinds.map(line),
    ratio("create / (insert + health)", createRatios(rounds)),
    ratio("span / (span insert + health)", spanRatios(rounds)),
    "",
  ].join("\n");
}
