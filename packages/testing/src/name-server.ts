import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";

/** Of RFC 1035, 3.2.2, and RFC 3596. */
const types = { A: 1, PTR: 12, AAAA: 28 } as const;

type Type = keyof typeof types;

/** Records by type and name, such as `PTR 9.2.0.192.in-addr.arpa`; `fails` and `silent` in place of them. */
export type NameRecords = Readonly<Record<string, readonly string[] | "fails" | "silent">>;

/** Starts a name server on this machine, which counts the questions, and a resolver that asks it alone. */
export async function startNameServer(records: NameRecords) {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (message, { port, address }) => {
    const { question, end } = readQuestion(message);
    asked.push(question);
    const found = records[question] ?? [];
    if (found === "silent") return;
    socket.send(writeAnswer(message.subarray(0, end), question, found), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const resolver = new Resolver({ timeout: 1_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return { resolver, asked, close: () => socket.close() };
}

function readQuestion(message: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  const code = message.readUInt16BE(at + 1);
  const type = (Object.keys(types) as Type[]).find((name) => types[name] === code);
  return { question: `${type} ${labels.join(".").toLowerCase()}`, end: at + 5 };
}

function writeAnswer(asked: Buffer, question: string, found: readonly string[] | "fails"): Buffer {
  const header = Buffer.from(asked);
  const rows = found === "fails" ? [] : found;
  // An answer of this server: it fails, has no such name, or has these records.
  header.writeUInt16BE(0x8180 | (found === "fails" ? 2 : rows.length === 0 ? 3 : 0), 2);
  header.writeUInt16BE(rows.length, 6);
  header.fill(0, 8, 12);
  const type = question.split(" ")[0] as Type;
  return Buffer.concat([header, ...rows.map((row) => writeRecord(type, row))]);
}

function writeRecord(type: Type, row: string): Buffer {
  const data = type === "PTR" ? writeName(row) : writeAddress(type, row);
  const head = Buffer.alloc(12);
  // The name of the question, at byte 12 of the message.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(types[type], 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function writeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}

/** An IPv6 address has all its eight parts. */
function writeAddress(type: Type, address: string): Buffer {
  if (type === "A") return Buffer.from(address.split(".").map(Number));
  return Buffer.from(
    address
      .split(":")
      .map((part) => part.padStart(4, "0"))
      .join(""),
    "hex",
  );
}
