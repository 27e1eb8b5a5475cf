export interface StreamEvent {
  event: string;
  id: string | undefined;
  data: { id: string; status: string; name: string } & Record<string, unknown>;
}

/** A client of a stream, with all that it has received. */
export interface StreamClient {
  readonly status: number;
  readonly headers: Headers;
  readonly events: readonly StreamEvent[];
  /** What `Last-Event-ID` would carry. */
  readonly lastId: string | undefined;
  readonly comments: number;
  /** Resolves when the answer is over, however. */
  readonly ended: Promise<void>;
  /** Waits for so many events. */
  until(count: number): Promise<void>;
  close(): Promise<void>;
}

interface StreamRequest {
  key: string;
  lastId?: string | undefined;
  query?: string;
}

/** Opens a stream. It resolves with its opening, or with another answer. */
export async function openStream(url: string, { key, lastId, query = "" }: StreamRequest): Promise<StreamClient> {
  const abort = new AbortController();
  const answer = await fetch(`${url}/api/v1/traces/stream${query}`, {
    headers: { Authorization: `Bearer ${key}`, ...(lastId !== undefined && { "Last-Event-ID": lastId }) },
    signal: abort.signal,
  });
  const events: StreamEvent[] = [];
  const state = { lastId, comments: 0, isEnded: false };
  const take = (block: string) => {
    const fieldOf = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
    const [id, data] = [fieldOf("id"), fieldOf("data")];
    state.lastId = id ?? state.lastId;
    if (block.startsWith(":")) state.comments++;
    if (data !== undefined) events.push({ event: fieldOf("event") ?? "message", id, data: JSON.parse(data) });
  };
  const read = async () => {
    const decoder = new TextDecoder();
    let tail = "";
    for await (const chunk of answer.body ?? []) {
      const blocks = (tail + decoder.decode(chunk, { stream: true })).split("\n\n");
      tail = blocks.pop() ?? "";
      for (const block of blocks) take(block);
    }
  };
  const ended = (answer.status === 200 ? read() : Promise.resolve())
    .catch(() => undefined)
    .finally(() => (state.isEnded = true));
  while (state.comments === 0 && !state.isEnded) await new Promise((resolve) => setTimeout(resolve, 2));
  return {
    status: answer.status,
    headers: answer.headers,
    events,
    get lastId() {
      return state.lastId;
    },
    get comments() {
      return state.comments;
    },
    ended,
    async until(count) {
      for (const end = Date.now() + 120_000; events.length < count; ) {
        if (state.isEnded || Date.now() > end) throw new Error(`${events.length} of ${count} events came`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    async close() {
      abort.abort();
      await ended;
    },
  };
}
