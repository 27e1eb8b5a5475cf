import type { Figure } from "./figures.js";
import { cpuMsOf, memoryOf } from "./process.js";
import { largeTraceSpans, type Stage } from "./stage.js";

const outlines = 10;
const readings = 300;
const viewers = 20;
const viewerRounds = 5;

async function ask({ origin, cookie }: Stage, path: string): Promise<Response> {
  const response = await fetch(`${origin}/dashboard/api${path}`, { headers: { cookie, "accept-encoding": "gzip" } });
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
  return response;
}

/** Reads all pages of the outline, as a browser asks for them; returns their bytes on the wire. */
async function readOutline(stage: Stage): Promise<number> {
  let bytes = 0;
  for (let after: string | null = ""; after !== null; ) {
    const response: Response = await ask(stage, `/traces/${stage.traceId}/outline${after && `?after=${after}`}`);
    bytes += Number(response.headers.get("content-length"));
    after = ((await response.json()) as { next: string | null }).next;
  }
  return bytes;
}

/** Processor milliseconds of Node and of Postgres for one of `count` repetitions. */
async function costOf(stage: Stage, count: number, work: () => Promise<unknown>) {
  const times = () => [cpuMsOf(stage.pid), cpuMsOf(stage.postmasterPid)] as const;
  await work();
  const before = times();
  for (let n = 0; n < count; n++) await work();
  const after = times();
  const each = (at: 0 | 1) => {
    const [from, to] = [before[at], after[at]];
    return from === undefined || to === undefined ? undefined : (to - from) / count;
  };
  return { node: each(0), postgres: each(1) };
}

/** The processor time of the server's large and its frequent answer. */
export async function measureAnswers(stage: Stage): Promise<Figure[]> {
  const bytes = await readOutline(stage);
  const outline = await costOf(stage, outlines, () => readOutline(stage));
  const both =
    outline.node === undefined || outline.postgres === undefined ? undefined : outline.node + outline.postgres;
  const newest = [stage.traceId, ...stage.listed].sort().at(-1);
  const query = `?after=${newest}&ids=${stage.listed.join(",")}&since=${new Date().toISOString()}`;
  const changes = await costOf(stage, readings, async () => (await ask(stage, `/traces/changes${query}`)).text());
  const name = `outline of ${largeTraceSpans} spans`;
  return [
    { name: `${name}: processor time of Node`, value: outline.node, unit: "ms" },
    { name: `${name}: processor time of Postgres`, value: outline.postgres, unit: "ms" },
    { name: `${name}: both`, value: both, unit: "ms", budget: 70 },
    { name: `${name}: gzip`, value: bytes / 1_000, unit: "KB", budget: 200 },
    { name: "traces/changes: processor time of Postgres", value: changes.postgres, unit: "ms", budget: 2, digits: 1 },
  ];
}

/** Resident memory without viewers: measure it first. */
export function measureIdle({ pid }: Stage): Figure {
  return { name: "memory, idle", value: megabytes(memoryOf(pid)), unit: "MB", budget: 110 };
}

/** The highest resident memory while everybody opens the list, the large trace and the statistics at the same time. */
export async function measureViewers(stage: Stage): Promise<Figure> {
  let highest: number | undefined;
  const timer = setInterval(() => {
    highest = Math.max(highest ?? 0, memoryOf(stage.pid) ?? 0) || undefined;
  }, 50);
  const paths = ["/traces", `/traces/changes?ids=${stage.listed.join(",")}`, `/sites/${stage.siteId}/stats`];
  const view = async () => {
    for (let n = 0; n < viewerRounds; n++) {
      for (const path of paths) await (await ask(stage, path)).arrayBuffer();
      await readOutline(stage);
    }
  };
  await Promise.all(Array.from({ length: viewers }, view)).finally(() => clearInterval(timer));
  return { name: `memory with ${viewers} viewers`, value: megabytes(highest), unit: "MB", budget: 180 };
}

const megabytes = (bytes: number | undefined) => (bytes === undefined ? undefined : bytes / 1e6);
