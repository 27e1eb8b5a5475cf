/** Object ids of the element types (Postgres, `pg_type.dat`). */
const elementOids = { json: 114, text: 25 } as const;

/** The header: number of dimensions, whether any element is null, element type, length, lower bound. */
const headerBytes = 20;
const nullLength = -1;

/** In Postgres's binary format (`array_send`) large texts need no escaping. The statement must cast the parameter. */
export function binaryArray(type: keyof typeof elementOids, elements: readonly (Uint8Array | string | null)[]): Buffer {
  let size = headerBytes;
  for (const element of elements) size += 4 + (element === null ? 0 : byteLength(element));
  const bytes = Buffer.allocUnsafe(size);
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(elements.includes(null) ? 1 : 0, 4);
  bytes.writeInt32BE(elementOids[type], 8);
  bytes.writeInt32BE(elements.length, 12);
  bytes.writeInt32BE(1, 16);
  let offset = headerBytes;
  for (const element of elements) offset = writeElement(bytes, offset, element);
  return bytes;
}

function byteLength(element: Uint8Array | string): number {
  return typeof element === "string" ? Buffer.byteLength(element) : element.length;
}

function writeElement(bytes: Buffer, offset: number, element: Uint8Array | string | null): number {
  const start = offset + 4;
  if (element === null) {
    bytes.writeInt32BE(nullLength, offset);
    return start;
  }
  let length: number;
  if (typeof element === "string") length = bytes.write(element, start);
  else {
    bytes.set(element, start);
    length = element.length;
  }
  bytes.writeInt32BE(length, offset);
  return start + length;
}
