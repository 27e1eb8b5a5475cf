import type { ApiClient } from "@waymark/client";
import { CommandError } from "../context/command-error.js";
import { formatCount, printable } from "../output/terminal-text.js";

/** Ten requests. A person waits for the answer, and has just read a short id in a list. */
const maxSearched = 2_000;
const pageSize = 200;

/**
 * The whole id of a trace. A part of an id is searched in the account's newest 2,000 traces; anything else comes back as it is.
 * @param text an id, or at least 4 characters of its end or beginning
 * @throws CommandError when no trace or several match; WaymarkError when the API does not answer
 */
export async function findTraceId(api: Pick<ApiClient, "iterateTraces">, text: string): Promise<string> {
  if (!isIdPart(text)) return text;
  const found: string[] = [];
  let searched = 0;
  for await (const { id } of api.iterateTraces({ limit: pageSize })) {
    if (matchesId(id, text)) found.push(id);
    if (++searched >= maxSearched) break;
  }
  const [id, ...others] = found;
  if (id === undefined) {
    const scope = searched < maxSearched ? "of this account" : `among the newest ${formatCount(maxSearched)}`;
    throw new CommandError(`No trace ${scope} has an id that begins or ends with '${text}'.`);
  }
  if (others.length === 0) return id;
  const shown = found.slice(0, 5).join(", ");
  const more = found.length > 5 ? `, and ${formatCount(found.length - 5)} more` : "";
  throw new CommandError(`Several traces have '${text}' in their id: ${shown}${more}. Give more of one.`);
}

/** Characters of a short id. The end of a UUIDv7 is random, its beginning is the same for neighbours in time. */
const shortLength = 8;

/** The end of an id, for lists; `trace show` takes it. */
export function shortId(id: string): string {
  return printable(id.slice(-shortLength));
}

/** Whether a text can be the end or the beginning of an id, of at least 4 characters. */
export function isIdPart(text: string): boolean {
  return /^[0-9a-f-]{4,35}$/i.test(text);
}

export function matchesId(id: string, part: string): boolean {
  const [whole, wanted] = [id.toLowerCase(), part.toLowerCase()];
  return whole.endsWith(wanted) || whole.startsWith(wanted);
}
