import { readStream, type StreamPage, type StreamPosition } from "@waymark/traces";
import type pg from "pg";
import type { Logger } from "pino";
import { Gauge, type Registry } from "prom-client";
import { type Backlog, WaitingText } from "./backlog.js";
import { Frames } from "./frames.js";
import type { Listener } from "./listener.js";
import type { Slice } from "./slice.js";
import { parseSnapshot } from "./snapshot.js";

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
export class Channels {
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
