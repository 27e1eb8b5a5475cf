import { type AnswerBudget, createTurns, createWorkShares, type Refusals } from "@waymark/service/http";
import { readStream, type StreamPosition } from "@waymark/traces";
import { Backlog } from "./backlog.js";
import { Channels, type ChannelsOptions } from "./channels.js";
import { eventId, type ResetReason } from "./event-id.js";
import { Frames, heartbeat, opening, resetFrame } from "./frames.js";
import { Listener, type ListenerOptions } from "./listener.js";
import { Slice } from "./slice.js";
import { parseSnapshot } from "./snapshot.js";

export interface TraceFeedOptions extends ChannelsOptions {
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
