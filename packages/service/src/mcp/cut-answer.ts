import { validationError } from "@waymark/errors";

/** The longest answer of a tool, in UTF-16 code units. */
export const maxCharacters = 100_000;
/** Of a text within JSON, which may double it. */
const maxPart = 48_000;

export type ReadAnswer = (changes?: Readonly<Record<string, string>>) => Promise<string | AsyncIterable<string>>;

/** Reads an answer: with `limit` as a page that fits, and what is still too long in parts of text. */
export async function presentPlain(
  read: ReadAnswer,
  { cursor, limit }: { cursor: string | undefined; limit: number | undefined },
): Promise<string> {
  const text = limit === undefined ? await textOf(await read()) : await readPage(read, limit);
  return cursor === undefined && text.length <= maxCharacters ? text : JSON.stringify(textPart(text, cursor));
}

async function readPage(read: ReadAnswer, given: number): Promise<string> {
  let limit = given;
  for (let text = await textOf(await read()); ; text = await textOf(await read({ limit: String(limit) }))) {
    if (text.length <= maxCharacters || limit <= 1) return text;
    limit = Math.max(1, Math.floor(limit * Math.min(0.9, (maxCharacters / text.length) * 0.9)));
  }
}

/**
 * A part of a text from a cursor on, and the cursor of the next one, null after the last.
 * @throws AppError 400 for a cursor that is no number
 */
export function textPart(text: string, cursor = "0"): { text: string; next_cursor: string | null } {
  if (!/^\d{1,9}$/.test(cursor)) throw validationError({ cursor: "Must be the next_cursor of an earlier answer" });
  const end = Number(cursor) + maxPart;
  return { text: text.slice(Number(cursor), end), next_cursor: end < text.length ? String(end) : null };
}

async function textOf(body: string | AsyncIterable<string>): Promise<string> {
  if (typeof body === "string") return body;
  let text = "";
  for await (const chunk of body) text += chunk;
  return text;
}
