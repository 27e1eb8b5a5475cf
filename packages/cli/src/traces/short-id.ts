import { printable } from "../output/terminal-text.js";

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

/** Whether an id ends or begins with a part of an id, in either case of letters. */
export function matchesId(id: string, part: string): boolean {
  const [whole, wanted] = [id.toLowerCase(), part.toLowerCase()];
  return whole.endsWith(wanted) || whole.startsWith(wanted);
}
