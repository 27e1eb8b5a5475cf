import { createWorkShares, type Refusals } from "@waymark/http";
import { readStream, type StreamPage, type StreamPosition } from "@waymark/traces";
import { Channels, type ChannelsOptions } from "./channels.js";
import { eventId, type ResetReason } from "./event-id.js";
import { framesOf, heartbeat, opening, resetFrame } from "./frames.js";
import { Listener, type ListenerOptions } from "./listener.js";
import { parseSnapshot } from "./snapshot.js";

export interface TraceFeedOptions extends ChannelsOptions {
  refusals: Refusals;
}

export interface TraceFeed {
  /** The text of a stream, from a position on, or from now on. Begin to read it, or nothing happens. */
  listen(options: ListenerOptions, after?: StreamPosition | ResetReason): { text: AsyncIterable<string>; end(): void };
  /** Ends all streams, and every later one at once. */
  stop(): void;
}

/** What clients missed is read by few at a time. */
const shares = { maxRunning: 4, maxRunningPerOwner: 2, maxWaiting: 4_000, maxWaitingPerOwner: 2_000 } as const;

/** Tells the listeners of an instance of new traces and changes of status: one query a second, however many they are. */
export function createTraceFeed(options: TraceFeedOptions): TraceFeed {
  const { pool, refusals } = options;
  const catchUp = createWorkShares({ tasks: "stream_reads", owner: "account", ...shares, maxWaitMs: 20_000 }, refusals);
  const channels = new Channels(options);

  async function readPage(accountId: string, position: StreamPosition): Promise<StreamPage> {
    const { pages } = await catchUp.run(accountId, () => readStream(pool, [{ accountId, position }]));
    if (!pages[0]) throw new Error("A page is missing");
    return pages[0];
  }

  /** The events from a position on, until nothing more is there. Returns the snapshot that shows no other. */
  async function* missed(listener: Listener, from: StreamPosition): AsyncGenerator<string, string> {
    const { accountId, matches } = listener.options;
    for (let position = from; ; ) {
      const page = await readPage(accountId, position);
      const nowMs = options.now().getTime();
      yield framesOf(page, { base: position.base, matches, nowMs }) || heartbeat(eventId(page.next, nowMs));
      position = page.next;
      if (page.isLast || listener.isEnded) return position.base;
    }
  }

  async function* tell(listener: Listener, after: StreamPosition | ResetReason | undefined) {
    const { accountId } = listener.options;
    const readNow = () => catchUp.run(accountId, async () => (await readStream(pool, [])).now);
    let from = after;
    try {
      if (typeof from === "object") {
        if (isAhead(from, await readNow())) from = "unknown";
        else {
          yield opening();
          from = { base: yield* missed(listener, from) };
        }
      }
      await channels.join(listener);
      if (typeof from === "object") listener.goLive(yield* missed(listener, from));
      else {
        const base = await readNow();
        const id = eventId({ base }, options.now().getTime());
        yield opening(id) + (from === undefined ? "" : resetFrame(from, id));
        listener.goLive(base);
      }
      for (let text = await listener.next(); text !== undefined; text = await listener.next()) yield text;
    } finally {
      channels.leave(listener);
    }
  }

  return {
    listen(listenerOptions, after) {
      const listener = new Listener(listenerOptions);
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
