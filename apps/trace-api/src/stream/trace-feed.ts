import { type AnswerBudget, createTurns, createWorkShares, type Refusals } from "@waymark/service/http";
import { readStream, type StreamPage, type StreamPosition } from "@waymark/traces";
import type pg from "pg";
import type { Logger } from "pino";
import { Gauge, type Registry } from "prom-client";
import { eventId, Frames, heartbeat, opening, parseSnapshot, type ResetReason, resetFrame, Slice } from "./frames.js";
import { Backlog, Listener, type ListenerOptions, WaitingText } from "./listener.js";

export interface ChannelsOptions {
  pool: pg.Pool;
  log: Logger;
  registry: Registry;
  now(): Date;
}

/** An account that is listened to. */
interface Channel {
  accountId: string;
  position: StreamPosition | undefined;
  opened: Promise<void>;
  listeners: Set<Listener>;
}

const pollMs = 1_000;
/** Comments come so often, and then keys are looked at again. */
const beatMs = 10_000;
/** Accounts of one statement. */
const maxAccounts = 100;

/** The accounts that are listened to, and the clock of their reading: one query a second, however many listen. */
class Channels {
  private readonly channels = new Map<string, Channel>();
  private clocks: NodeJS.Timeout[] = [];
  private isPolling = false;
  private isStopped = false;
  private isTroubled = false;

  constructor(
    private readonly options: ChannelsOptions,
    private readonly backlog: Backlog,
    private readonly slice: Slice,
  ) {
    new Gauge({
      name: "waymark_trace_streams",
      help: "Open live streams",
      registers: [options.registry],
      collect() {
        this.set(backlog.streams.size);
      },
    });
  }

  /** From now on the listener gets everything that no snapshot read before this resolves. */
  async join(listener: Listener): Promise<void> {
    if (this.isStopped) return listener.end();
    const { accountId } = listener.options;
    const channel = this.channels.get(accountId) ?? this.open(accountId);
    channel.listeners.add(listener);
    await channel.opened;
  }

  leave(listener: Listener): void {
    const channel = this.channels.get(listener.options.accountId);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return;
    this.channels.delete(channel.accountId);
    if (this.channels.size > 0) return;
    for (const clock of this.clocks) clearInterval(clock);
    this.clocks = [];
  }

  stop(): void {
    this.isStopped = true;
    for (const { listeners } of this.channels.values()) for (const listener of listeners) listener.end();
  }

  private open(accountId: string): Channel {
    const channel: Channel = { accountId, position: undefined, opened: Promise.resolve(), listeners: new Set() };
    channel.opened = readStream(this.options.pool, []).then(({ now }) => {
      channel.position = { base: now };
    });
    this.channels.set(accountId, channel);
    if (this.clocks.length === 0) {
      this.clocks = [setInterval(() => void this.poll(), pollMs), setInterval(() => void this.beat(), beatMs)];
    }
    return channel;
  }

  private async poll(): Promise<void> {
    if (this.isPolling) return;
    this.isPolling = true;
    try {
      let left = [...this.channels.values()].filter(({ position }) => position !== undefined);
      while (left.length > 0) left = [...left.slice(maxAccounts), ...(await this.read(left.slice(0, maxAccounts)))];
      this.isTroubled = false;
    } catch (error) {
      if (!this.isTroubled) this.options.log.warn({ err: error }, "the live stream waits for the database");
      this.isTroubled = true;
    } finally {
      this.isPolling = false;
    }
  }

  /** Reads a page for each channel. Returns the channels with more. */
  private async read(some: readonly Channel[]): Promise<Channel[]> {
    const positions = some.flatMap(({ accountId, position }) => (position ? [{ accountId, position }] : []));
    const { pages } = await readStream(this.options.pool, positions);
    const left: Channel[] = [];
    for (const [index, channel] of some.entries()) {
      const page = pages[index];
      if (page) await this.deliver(channel, page);
      if (page?.isLast === false && channel.listeners.size > 0) left.push(channel);
    }
    return left;
  }

  /**
   * Writes all texts first, with pauses, and then hands them over in one piece: until then the position stays, and a listener that
   * goes live meanwhile gets its text, too.
   */
  private async deliver(channel: Channel, page: StreamPage): Promise<void> {
    const { accountId, listeners } = channel;
    if (page.rows.length > 0) {
      const frames = new Frames(page, channel.position?.base ?? page.top, this.options.now().getTime());
      const texts = new Map<Listener, WaitingText | undefined>();
      const shared = new Map<string, WaitingText>();
      const nextListener = () => [...listeners].find((each) => each.isLive && !each.isEnded && !texts.has(each));
      for (let listener = nextListener(); listener; listener = nextListener()) {
        const { since, options } = listener;
        const text = await frames.textFor({ matches: options.matches, since }, this.slice, accountId);
        if (text !== "" && !shared.has(text)) shared.set(text, new WaitingText(text, accountId, this.backlog));
        texts.set(listener, shared.get(text));
      }
      const seen = parseSnapshot(page.next.base);
      for (const listener of listeners) listener.deliver(texts.get(listener), seen);
    }
    channel.position = page.next;
  }

  private async beat(): Promise<void> {
    const nowMs = this.options.now().getTime();
    for (const { accountId, position, listeners } of this.channels.values()) {
      if (this.slice.isUsedUp()) await this.slice.next(accountId);
      const base = position?.rest ? undefined : position?.base;
      for (const listener of listeners) {
        listener.beat(base, nowMs);
        void endIfRefused(listener);
      }
    }
  }
}

async function endIfRefused(listener: Listener): Promise<void> {
  try {
    if (!(await listener.options.isAllowed())) listener.end();
  } catch {
    // The database does not answer: the key is looked up again with the next comment.
  }
}

interface TraceFeedOptions extends ChannelsOptions {
  refusals: Refusals;
  /** The budget of answers, which has the waiting text as a part. */
  answers: AnswerBudget["shares"];
}

export interface TraceFeed {
  /** The text of a stream, from a position on, or from now on. Begin to read it, or nothing happens. */
  listen(
    options: ListenerOptions,
    after?: StreamPosition | ResetReason,
  ): { text: AsyncIterable<string | Buffer>; end(): void };
  /** Ends all streams, and every later one at once. */
  stop(): void;
}

/** What clients missed is read by few at a time. */
const shares = { maxRunning: 4, maxRunningPerOwner: 2, maxWaiting: 4_000, maxWaitingPerOwner: 40 } as const;

/** Tells the listeners of an instance of new traces and changes of status: one query a second, however many they are. */
export function createTraceFeed(options: TraceFeedOptions): TraceFeed {
  const { pool, refusals, answers } = options;
  const catchUp = createWorkShares({ tasks: "stream_reads", owner: "account", ...shares, maxWaitMs: 20_000 }, refusals);
  const backlog = new Backlog(answers, options.registry);
  const turn = createTurns();
  const channels = new Channels(options, backlog, new Slice(turn));

  const read = (accountId: string, position?: StreamPosition) =>
    catchUp.run(accountId, () => readStream(pool, position ? [{ accountId, position }] : []));

  /** Reads a page of what a listener missed; after the last one it is live. A function of its own, which keeps no row while the client reads. */
  async function readMissed(listener: Listener, slice: Slice, position: StreamPosition) {
    const { accountId, matches } = listener.options;
    listener.beginReading();
    const page = (await read(accountId, position)).pages[0];
    if (!page) throw new Error("A page is missing");
    if (page.isLast) listener.goLive(page.next.base);
    const nowMs = options.now().getTime();
    const text = await new Frames(page, position.base, nowMs).textFor({ matches }, slice, accountId);
    return { bytes: text === "" ? heartbeat(eventId(page.next, nowMs)) : listener.own(text), next: page.next };
  }

  /** The events from a position on, until the listener is live. */
  async function* missed(listener: Listener, from: StreamPosition): AsyncGenerator<string | Buffer, void> {
    const slice = new Slice(turn);
    for (let position = from; !listener.isLive && !listener.isEnded; ) {
      const { bytes, next } = await readMissed(listener, slice, position);
      if (bytes !== undefined) yield bytes;
      position = next;
    }
  }

  /** The beginning without missed events: an id, and why an earlier one is of no use. */
  async function beginNow(listener: Listener, reason: ResetReason | undefined): Promise<string> {
    for (;;) {
      listener.beginReading();
      const { now: base } = await read(listener.options.accountId);
      if (!listener.goLive(base) && !listener.isEnded) continue;
      const id = eventId({ base }, options.now().getTime());
      return opening(id) + (reason === undefined ? "" : resetFrame(reason, id));
    }
  }

  async function* tell(listener: Listener, after: StreamPosition | ResetReason | undefined) {
    backlog.streams.add(listener);
    try {
      const isLost = typeof after === "object" && isAhead(after, (await read(listener.options.accountId)).now);
      await channels.join(listener);
      if (typeof after === "object" && !isLost) {
        yield opening();
        yield* missed(listener, after);
      } else yield await beginNow(listener, isLost ? "unknown" : (after as ResetReason | undefined));
      for (let bytes = await listener.next(); bytes; bytes = await listener.next()) yield bytes;
    } finally {
      backlog.streams.delete(listener);
      channels.leave(listener);
      listener.close();
    }
  }

  return {
    listen(listenerOptions, after) {
      const listener = new Listener(listenerOptions, backlog);
      return { text: tell(listener, after), end: () => listener.end() };
    },
    stop: () => channels.stop(),
  };
}

/** Whether a position is none of this database's past: of another server, or before a restore. */
function isAhead({ base, rest }: StreamPosition, now: string): boolean {
  const [present, read] = [parseSnapshot(now), parseSnapshot(rest?.top ?? base)];
  return present === undefined || read === undefined || read.xmax > present.xmax;
}
