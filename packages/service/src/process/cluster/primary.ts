import type { Worker } from "node:cluster";
import cluster from "node:cluster";
import type { Logger } from "pino";
import { AggregatorRegistry, Counter, type MetricObjectWithValues, type MetricValue } from "prom-client";
import { createRegistry } from "../metrics.js";
import { openOperationsServer, type Readiness } from "../operations-server.js";
import { type ProcessLike, type Running, StartFailure } from "../run-process.js";
import { processVariable, type Question, type ToMember, type ToPrimary } from "./messages.js";

export type Snapshot = MetricObjectWithValues<MetricValue<string>>[];

/** Adds up the metrics of processes. Sums of counters never fall: what an ended process counted still counts. */
export function createTotals() {
  const latest = new Map<number, Snapshot>();
  let ended: Snapshot = [];
  return {
    /** Keeps a process's metrics; without an answer the former ones stay. */
    put(process: number, snapshot: Snapshot | undefined): void {
      if (snapshot) latest.set(process, snapshot);
    },
    async end(process: number): Promise<void> {
      const counts = latest.get(process)?.filter(({ type }) => isCount(String(type)));
      latest.delete(process);
      if (!counts) return;
      const sum = AggregatorRegistry.aggregate([ended, counts]);
      ended = counts.length > 0 ? await sum.getMetricsAsJSON() : ended;
    },
    text: (own: Snapshot): Promise<string> => AggregatorRegistry.aggregate([...latest.values(), ended, own]).metrics(),
  };
}

/** Of a counter and a histogram; gauges end with their process. prom-client's types say numbers, its snapshots names. */
function isCount(type: string): boolean {
  return type === "counter" || type === "histogram";
}

/** A process that ended starts again after this, and twice as long after each further failure, ... */
const firstPauseMs = 100;
const longestPauseMs = 30_000;
/** ... until one has lived for this long. */
const soundAfterMs = 60_000;
/** Later than a process's own checks. A process too busy to answer counts as it last was. */
const answerTimeoutMs = 3_000;

interface PrimaryOptions {
  node: ProcessLike;
  log: Logger;
  name: string;
  processes: number;
  host: string;
  metrics: { host: string; port: number; isPortChosen: boolean; portVariable: string };
}

interface Seat {
  readonly number: number;
  worker: Worker | undefined;
  isListening: boolean;
  startedAt: number;
  failures: number;
}

/** Starts processes again that end unasked. The first one starts alone: its failure is the failure of all. */
export async function openPrimary(options: PrimaryOptions): Promise<Running> {
  const { log, processes, host, metrics } = options;
  const crew = new Crew(options);
  // After a failure nothing may go on without the primary.
  options.node.on("exit", () => crew.kill());
  const port = await crew.start();
  const operations = await openOperationsServer({
    ...metrics,
    metrics: () => crew.metrics(),
    ready: () => crew.readiness(),
  });
  log.info({ host, port, metricsPort: operations.port, processes }, "listening");
  return {
    port,
    async stop() {
      await crew.stop();
      await operations.stop(0);
    },
  };
}

class Crew {
  private readonly seats: readonly Seat[];
  private readonly registry;
  private readonly ends;
  private readonly totals = createTotals();
  private readonly asked = new Map<number, (answer: unknown) => void>();
  private readonly pauses = new Set<NodeJS.Timeout>();
  private questions = 0;
  private isStopping = false;
  private stopCode = 0;

  constructor(private readonly options: PrimaryOptions) {
    const numbers = Array.from({ length: options.processes }, (_, index) => index + 1);
    this.seats = numbers.map((number) => ({
      number,
      worker: undefined,
      isListening: false,
      startedAt: 0,
      failures: 0,
    }));
    this.registry = createRegistry(options.name);
    this.ends = new Counter({
      name: "waymark_process_ends_total",
      help: "Processes of the service that ended unasked; another one took the place of each",
      registers: [this.registry],
    });
  }

  async start(): Promise<number> {
    const [first, ...others] = this.seats;
    if (!first) throw new Error("There is no process to start");
    const port = await this.launch(first);
    await Promise.all(others.map((seat) => this.launch(seat)));
    return port;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    for (const pause of this.pauses) clearTimeout(pause);
    await Promise.all(
      this.seats.map(({ worker }) => {
        if (!worker || worker.isDead()) return undefined;
        send(worker, { kind: "stop" });
        return new Promise((resolve) => worker.once("exit", resolve));
      }),
    );
    if (this.stopCode !== 0) throw new Error(`A process ended with ${this.stopCode}`);
  }

  kill(): void {
    for (const { worker } of this.seats) worker?.process.kill("SIGKILL");
  }

  async metrics(): Promise<string> {
    await Promise.all(
      this.seats.map(async (seat) => {
        const { worker } = seat;
        const snapshot = (await this.ask(seat, "metrics")) as Snapshot | undefined;
        if (seat.worker === worker) this.totals.put(seat.number, snapshot);
      }),
    );
    return this.totals.text(await this.registry.getMetricsAsJSON());
  }

  /** The worst answer of all processes that listen. */
  async readiness(): Promise<Readiness> {
    const answers = await Promise.all(
      this.seats.filter(({ isListening }) => isListening).map((seat) => this.ask(seat, "ready")),
    );
    const known = answers.filter((answer): answer is Readiness => answer !== undefined);
    const worst = known.find(({ status }) => status !== 200) ?? known[0];
    return worst ?? { status: 503, body: { error: "Not ready: processes", checks: { processes: "failed" } } };
  }

  /** @returns the port, once the process listens; rejects with its exit code when it ends before */
  private launch(seat: Seat): Promise<number> {
    const { number } = seat;
    const worker = cluster.fork({ [processVariable]: `${number}/${this.seats.length}` });
    closeUntaken(worker);
    Object.assign(seat, { worker, isListening: false, startedAt: performance.now() });
    return new Promise((resolve, reject) => {
      worker.on("message", (message: ToPrimary) => {
        if (message.kind === "tell") this.tellOthers(number, { kind: "tell", from: number, told: message.told });
        else if (message.kind === "answer") this.asked.get(message.id)?.(message.answer);
        else {
          seat.isListening = true;
          this.tellOthers(number, { kind: "joined" });
          resolve(message.port);
        }
      });
      worker.once("exit", (code, signal) => {
        const wasListening = seat.isListening;
        Object.assign(seat, { worker: undefined, isListening: false });
        void this.totals.end(number);
        this.tellOthers(number, { kind: "gone", from: number });
        reject(new StartFailure(code || 1));
        if (this.isStopping) this.stopCode ||= code ?? 1;
        else if (wasListening) this.replace(seat, worker, code, signal);
      });
      worker.once("error", () => worker.process.kill("SIGKILL"));
    });
  }

  private replace(seat: Seat, worker: Worker, code: number | null, signal: string | null): void {
    this.ends.inc();
    if (performance.now() - seat.startedAt > soundAfterMs) seat.failures = 0;
    const pauseMs = this.launchLater(seat);
    const ended = { process: seat.number, pid: worker.process.pid, code, signal };
    this.options.log.error({ ...ended, pauseMs }, "a process ended; another one takes its place");
  }

  private launchLater(seat: Seat): number {
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** seat.failures++);
    const pause = setTimeout(() => {
      this.pauses.delete(pause);
      this.launch(seat).catch(({ code }: StartFailure) => this.failAgain(seat, code));
    }, pauseMs);
    this.pauses.add(pause);
    return pauseMs;
  }

  /** A process ended at its start: the others go on without it. If none is left, the service ends with its code. */
  private failAgain(seat: Seat, code: number): void {
    const { log, node } = this.options;
    if (this.isStopping) return;
    if (this.seats.some(({ worker }) => worker)) {
      const pauseMs = this.launchLater(seat);
      log.error({ process: seat.number, code, pauseMs }, "a process ended at its start; another one takes its place");
      return;
    }
    log.fatal({ code }, "no process is left, and a new one ended at its start");
    log.flush(() => node.exit(code));
  }

  private tellOthers(number: number, message: ToMember): void {
    for (const seat of this.seats) if (seat.number !== number && seat.worker) send(seat.worker, message);
  }

  private ask({ worker }: Seat, question: Question): Promise<unknown> {
    if (!worker?.isConnected()) return Promise.resolve(undefined);
    const id = ++this.questions;
    return new Promise((resolve) => {
      const settle = (answer: unknown) => {
        clearTimeout(timer);
        this.asked.delete(id);
        worker.off("exit", leave);
        resolve(answer);
      };
      const leave = () => settle(undefined);
      const timer = setTimeout(leave, answerTimeoutMs);
      worker.once("exit", leave);
      this.asked.set(id, settle);
      send(worker, { kind: "ask", id, question });
    });
  }
}

function send(worker: Worker, message: ToMember): void {
  // A process that has just ended takes no message; its exit says the rest.
  if (worker.isConnected()) worker.send(message, () => undefined);
}

/**
 * Closes the connection that was on its way to a process when it was killed. Node forgets that one, and its client would wait
 * for ever. Closing a connection that the process had taken does nothing.
 */
function closeUntaken({ process: child }: Worker): void {
  let latest: { close?(): void } | undefined;
  const pass = child.send.bind(child) as (...args: unknown[]) => boolean;
  child.send = (...args: unknown[]) => {
    latest = (args[1] as typeof latest) ?? latest;
    return pass(...args);
  };
  child.once("exit", () => latest?.close?.());
}
