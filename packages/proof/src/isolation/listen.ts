import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { System } from "../system/start-system.js";
import type { Actor } from "./actor.js";

/** Live streams of accounts, open during a run. */
interface Listeners {
  countEvents(): number;
  /** Marks of others in a stream. */
  findLeaks(): string[];
  close(): void;
}

export async function openListeners(system: Pick<System, "url">, actors: readonly Actor[]): Promise<Listeners> {
  const texts = new Map<Actor, string>();
  const streams: IncomingMessage[] = [];
  for (const actor of actors) {
    const request = get(`${system.url("trace-api")}/api/v1/traces/stream`, {
      headers: { Authorization: `Bearer ${actor.traceKey}` },
    });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    streams.push(response);
    response.on("error", () => undefined);
    response.on("data", (chunk: Buffer) => texts.set(actor, (texts.get(actor) ?? "") + chunk.toString()));
  }
  return {
    countEvents: () => [...texts.values()].join("").split("event: trace").length - 1,
    findLeaks: () =>
      actors.flatMap((actor) => {
        const strangers = actors.filter((each) => each !== actor && texts.get(actor)?.includes(each.mark));
        return strangers.map(({ mark }) => `the stream of ${actor.mark} shows ${mark}`);
      }),
    close: () => {
      for (const stream of streams) stream.destroy();
    },
  };
}
