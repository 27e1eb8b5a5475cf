import type { IncomingHttpHeaders } from "node:http";
import type { Received } from "../fuzz/send.js";
import type { Message } from "../system/receiver.js";
import type { Actor } from "./actor.js";

const uuidForm = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/**
 * Looks for another's mark, or another's id that the reader never sent, in an answer's headers and body.
 * @param sent the whole request: its own texts may come back
 */
export function findLeak(
  reader: Actor,
  others: readonly Actor[],
  received: Received,
  sent: string,
): string | undefined {
  const text = `${JSON.stringify(received.headers)}\n${received.text}`;
  for (const other of others) {
    if (text.includes(other.mark) && !sent.includes(other.mark)) return `shows ${reader.mark} the mark ${other.mark}`;
    const own = idsOf(other);
    const id = text.match(uuidForm)?.find((each) => own.has(each) && !reader.sentIds.has(each) && !sent.includes(each));
    if (id) return `shows ${reader.mark} the id ${id} of ${other.mark}`;
  }
  return undefined;
}

export function idsOf({ accountId, known }: Pick<Actor, "accountId" | "known">): Set<string> {
  return new Set([accountId, ...[...known].filter(([noun]) => !plainNouns.has(noun)).flatMap(([, ids]) => ids)]);
}

const plainNouns = new Set(["mark", "agent", "hook", "domain"]);

/** Mails and webhooks with a mark of somebody else than their receiver. */
export function findMisdirected(messages: readonly Message[], actors: readonly Actor[]): string[] {
  return messages.flatMap(({ to, text }) => {
    const strangers = actors.filter(({ mark }) => text.includes(mark) && !to.includes(mark));
    return strangers.map(({ mark }) => `a message to ${to} shows ${mark}`);
  });
}

/** Headers that differ between two equal answers: times, counts of the sender's own requests, names of requests. */
const ownHeaders = /^(date|x-request-id|ratelimit-.*|content-length|connection|keep-alive|set-cookie|retry-after)$/;

/** An answer without ids and times, to compare two of them. */
export function shapeOf({ status, headers, text }: Received, names: readonly string[]): string {
  const kept = Object.entries(headers as IncomingHttpHeaders).filter(([name]) => !ownHeaders.test(name));
  const plain = names.reduce((shown, name) => shown.replaceAll(name, "ID"), text);
  return JSON.stringify([status, kept, plain]);
}
