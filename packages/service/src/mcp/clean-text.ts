import type { Answer } from "../http/index.js";

/** Escapes of JSON, of which some are hidden, and characters that are hidden or reorder others; not line feed and tab. */
const hidden = /\\(?:u[0-9a-fA-F]{4}|[^u])|[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029\u{E0000}-\u{E007F}]/gu;
const unseen = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/u;
const escapes: Readonly<Record<string, true>> = { "\\b": true, "\\f": true, "\\r": true };
/** An escape that may go on in the next chunk, if an odd number of backslashes begins it. */
const openEscape = /(\\+)(?:u[0-9a-fA-F]{0,3})?$/;

/** JSON without hidden characters, raw or as escapes; it stays JSON. */
export function cleanJson(text: string): string {
  return text.replace(hidden, (found) => {
    if (!found.startsWith("\\")) return "";
    if (found.length === 2) return escapes[found] ? "" : found;
    return unseen.test(String.fromCharCode(Number.parseInt(found.slice(2), 16))) ? "" : found;
  });
}

/** An answer's body as such JSON, in chunks where it came in chunks. */
export function cleanBody(body: Answer["body"]): string | AsyncIterable<string> {
  if (typeof body === "string") return cleanJson(body);
  if (Buffer.isBuffer(body)) return cleanJson(body.toString("utf8"));
  return Symbol.asyncIterator in body ? cleanChunks(body) : cleanJson(JSON.stringify(body));
}

async function* cleanChunks(chunks: AsyncIterable<string | Buffer>): AsyncGenerator<string, void, void> {
  let open = "";
  for await (const chunk of chunks) {
    const text = open + chunk.toString();
    const found = openEscape.exec(text);
    const slashes = found?.[1]?.length ?? 0;
    const end = found && slashes % 2 === 1 ? found.index + slashes - 1 : text.length;
    open = text.slice(end);
    yield cleanJson(text.slice(0, end));
  }
  yield cleanJson(open);
}
