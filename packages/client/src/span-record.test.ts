import { expect, it } from "@jest/globals";
import { type SpanRecord, toBatchText, toEndText } from "./span-record.js";

const record = (changes: Partial<SpanRecord>): SpanRecord => ({
  ...{
    name: "step",
    kind: undefined,
    startedAt: "2026-06-01T12:00:00.000000Z",
    parent: undefined,
    input: undefined,
    attributes: undefined,
    end: undefined,
    endsApart: false,
  },
  state: "sending",
  id: undefined,
  bytes: 0,
  onSettled: () => undefined,
  ...changes,
});

it("a batch names parents in it by reference, earlier ones by id, and skips lost ones", () => {
  const stored = record({ state: "stored", id: "id-1" });
  const lost = record({ state: "lost", parent: stored });
  const root = record({ input: '{"a":1}', kind: "agent" });
  const end = {
    status: "error",
    endedAt: "2026-06-01T12:00:01.000000Z",
    output: "null",
    error: 'it "broke"',
    attributes: '{"b":2}',
  } as const;
  const spans = [
    root,
    record({ parent: root, attributes: '{"a":1,"b":1}', end }),
    record({ parent: stored }),
    record({ parent: lost }),
  ];
  expect(JSON.parse(toBatchText(spans))).toEqual({
    spans: [
      { name: "step", kind: "agent", status: "ok", started_at: root.startedAt, input: { a: 1 }, ref: "0" },
      {
        name: "step",
        status: "error",
        started_at: root.startedAt,
        ended_at: end.endedAt,
        error: 'it "broke"',
        output: null,
        attributes: { a: 1, b: 2 },
        parent_ref: "0",
      },
      { name: "step", status: "ok", started_at: root.startedAt, parent_span_id: "id-1" },
      { name: "step", status: "ok", started_at: root.startedAt, parent_span_id: "id-1" },
    ],
  });
});

it("an end carries its attributes, which are added to those of the start", () => {
  const end = { status: "ok", endedAt: "2026-06-01T12:00:01.000000Z", output: undefined, error: null } as const;
  expect(toEndText({ ...end, attributes: '{"n":12345678901234567890}' })).toBe(
    '{"status":"ok","ended_at":"2026-06-01T12:00:01.000000Z","attributes":{"n":12345678901234567890}}',
  );
  expect(toEndText({ ...end, attributes: undefined })).not.toContain("attributes");
});
