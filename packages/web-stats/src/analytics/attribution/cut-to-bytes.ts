import { Buffer } from "node:buffer";

/** The longest start of a text within a number of UTF-8 bytes; it cuts no character in half. */
export function cutToBytes(text: string, maxBytes: number): string {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = maxBytes;
  // Bytes 10xxxxxx continue a character.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}
