import { randomFillSync } from "node:crypto";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

export const smallestUuid = "00000000-0000-0000-0000-000000000000";

export function formatUuid(bytes: Buffer): string {
  const hex = bytes.toString("hex", 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Below this a backward step of the clock is an adjustment: ids keep their time until it has caught up. */
const maxAheadMs = 2_000;

/**
 * Makes a source of UUIDv7 (RFC 9562, 5.7). Its ids sort in the order of creation, also within a millisecond (method 2: a
 * counter in the 12 bits of `rand_a` and the next 6 bits) and while the clock is adjusted. It follows larger corrections,
 * back too: ids of the future would look like traces of the future. Random bits keep ids of a repeated time apart.
 */
export function createUuidV7(now: () => number = Date.now): () => string {
  const random = Buffer.alloc(4096);
  let offset = random.length;
  let millis = 0;
  let counter = 0;
  let [head, headMillis] = ["", -1];
  const hex = (at: number) => hexOfByte[random[at] ?? 0];
  return () => {
    if (offset + 9 > random.length) {
      randomFillSync(random);
      offset = 0;
    }
    const current = now();
    if (current > millis || current < millis - maxAheadMs) {
      millis = current;
      counter = random.readUInt16BE(offset);
    } else if (++counter > 0x3ffff) {
      millis++;
      counter = 0;
    }
    // Many ids share a millisecond, and their text.
    if (headMillis !== millis) {
      const time = millis.toString(16).padStart(12, "0");
      head = `${time.slice(0, 8)}-${time.slice(8)}-7`;
      headMillis = millis;
    }
    const at = offset + 2;
    offset += 9;
    const high = (counter >>> 6).toString(16).padStart(3, "0");
    const low = hexOfByte[0x80 | (counter & 0x3f)];
    return `${head}${high}-${low}${hex(at)}-${hex(at + 1)}${hex(at + 2)}${hex(at + 3)}${hex(at + 4)}${hex(at + 5)}${hex(at + 6)}`;
  };
}

/** The first and last of ids: as bounds of a statement they make Postgres open the partitions between them alone. */
export function idBounds(ids: readonly string[]): [first: string | undefined, last: string | undefined] {
  let [first, last] = [ids[0], ids[0]];
  for (const id of ids) {
    if (first === undefined || id < first) first = id;
    if (last === undefined || id > last) last = id;
  }
  return [first, last];
}

/** Returns the smallest UUIDv7 of a millisecond since 1970: a bound for ranges of ids by time. */
export function uuidV7Floor(millis: number): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Math.max(0, Math.floor(millis)), 0, 6);
  return formatUuid(bytes);
}
