import { Buffer } from "node:buffer";

/** The start of a text that takes at most so many bytes in UTF-8; no character is cut in half. */
export function cutToBytes(text: string, maxBytes: number): string {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = maxBytes;
  // Bytes that continue a character start with the bits 10.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}
