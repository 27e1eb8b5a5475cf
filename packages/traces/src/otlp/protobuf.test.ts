import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import type protobuf from "protobufjs/light.js";
import { loadOtlpMessages, readProtobuf } from "./protobuf.js";
import { maxMembersOfOne } from "./request.js";

const messages = loadOtlpMessages("traces");

/** Reads a request with its spans, and counts the steps. */
function read(bytes: Buffer) {
  const steps = readProtobuf(messages, bytes);
  for (let count = 1; ; count++) {
    const { done, value: request } = steps.next();
    if (!done) continue;
    for (const scope of request.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)) {
      const spans = scope.spans.map((span) => (typeof span === "function" ? span() : span));
      if (spans.length > 0) Object.assign(scope, { spans });
    }
    return { request, count };
  }
}

const encode = (request: object) => Buffer.from(messages.request.encode(messages.request.fromObject(request)).finish());
const plain = (request: unknown) => messages.request.toObject(request as protobuf.Message);

const text = fc.oneof(
  fc.string({ maxLength: 5 }),
  fc.nat(20_000).map((length) => "ä".repeat(length)),
);
const { value } = fc.letrec<{ value: object }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    text.map((stringValue) => ({ stringValue })),
    fc.integer().map((intValue) => ({ intValue })),
    fc.constant({}),
    fc.array(tie("value"), { maxLength: 4 }).map((values) => ({ arrayValue: { values } })),
    fc.nat(9_000).map((length) => ({ arrayValue: { values: Array(length).fill({ boolValue: true }) } })),
  ),
}));
const attributes = fc.array(fc.record({ key: text, value }), { maxLength: 3 });
const span = fc.record({
  name: text,
  attributes,
  events: fc.array(fc.record({ name: text, attributes }), { maxLength: 2 }),
  status: fc.record({ message: text, code: fc.constantFrom(0, 1, 2) }),
});
const resourceSpans = fc.record({
  resource: fc.record({ attributes }),
  scopeSpans: fc.array(fc.record({ scope: fc.record({ name: text }), spans: fc.array(span, { maxLength: 3 }) }), {
    maxLength: 2,
  }),
});
const request = fc.record({ resourceSpans: fc.array(resourceSpans, { maxLength: 2 }) }).map(encode);

describe("readProtobuf", () => {
  it("reads in steps what protobufjs decodes in one go", () => {
    fc.assert(
      fc.property(request, (bytes) => {
        const { request: inSteps, count } = read(bytes);
        expect(plain(inSteps)).toEqual(plain(messages.request.decode(bytes)));
        if (bytes.length > 500_000) expect(count).toBeGreaterThan(5);
      }),
      randomRuns(20),
    );
  });

  it("refuses altered bytes exactly where protobufjs does", () => {
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    const attempt = (decode: () => unknown) => {
      try {
        return decode();
      } catch {
        return "refused";
      }
    };
    fc.assert(
      fc.property(request, fc.array(change, { maxLength: 3 }), fc.nat(), (whole, changes, cut) => {
        const bytes = Buffer.from(whole.subarray(0, changes.length % 2 ? whole.length : cut % (whole.length + 1)));
        for (const [place, byte] of changes) if (bytes.length > 0) bytes[place % Math.min(200, bytes.length)] = byte;
        const expected = attempt(() => plain(messages.request.decode(bytes)));
        expect(attempt(() => plain(read(bytes).request))).toEqual(expected);
      }),
      randomRuns(30),
    );
  });

  it("merges the parts of a message that comes twice, as protobuf does", () => {
    const part = (key: string) =>
      encode({ resourceSpans: [{ resource: { attributes: [{ key, value: { stringValue: key.repeat(20_000) } }] } }] });
    // Both parts' resources in one ResourceSpans: its tag, its length, and the members of both.
    const members = ["a", "b"].map((key) => {
      const list = messages.request.lookupType("ResourceSpans");
      const [only] = (messages.request.decode(part(key)) as unknown as { resourceSpans: protobuf.Message[] })
        .resourceSpans;
      return Buffer.from(list.encode(only as protobuf.Message).finish());
    });
    const body = Buffer.concat(members);
    const length = [...varint(body.length)];
    const bytes = Buffer.concat([Buffer.from([(1 << 3) | 2, ...length]), body]);
    const { request: merged } = read(bytes);
    expect(merged.resourceSpans[0]?.resource?.attributes.map(({ key }) => key)).toEqual(["a", "b"]);
  });

  it("leaves out a span with too many attributes, and keeps the others", () => {
    const many = Array(maxMembersOfOne * 2).fill({ key: "k", value: { intValue: 1 } });
    const spans = [{ name: "first" }, { name: "large", attributes: many }, { name: "last" }];
    const { request: kept } = read(encode({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    expect(kept.resourceSpans[0]?.scopeSpans[0]?.spans.map((each) => each?.name)).toEqual(["first", undefined, "last"]);
  });
});

function* varint(number: number): Generator<number> {
  for (let rest = number; ; rest >>>= 7) {
    if (rest < 128) return yield rest;
    yield (rest & 127) | 128;
  }
}
