import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { testSpan } from "../trace/spans.fixture.js";
import type { Span } from "../trace/spans.js";
import { buildTree, type Tree } from "../trace/tree.js";
import { type Alignment, align } from "./align.js";

const span = (id: string, more: Partial<Span> = {}) => testSpan(id, { name: "step", end: 0, ...more });
const { has: nothing } = span("");

function aligned(left: Tree, right: Tree): Alignment & { turns: number } {
  const run = align(left, right);
  for (let [step, turns] = [run.next(), 0]; ; step = run.next(), turns++)
    if (step.done) return { ...step.value, turns };
}

const tree = (...spans: readonly Span[]) => buildTree(spans);
const names = (...list: readonly string[]) => list.map((name, start) => span(`${start} ${name}`, { name, start }));
const side = (prefix: string, spans: readonly Span[]) =>
  tree(...spans.map((one) => ({ ...one, id: prefix + one.id, parentId: one.parentId && prefix + one.parentId })));

/** Rows as `name`, `-name` of the left alone and `+name` of the right alone, indented. */
function rows(left: readonly Span[], right: readonly Span[]): string[] {
  const { tree: merged, pairs } = aligned(side("l", left), side("r", right));
  return merged.nodes.map(({ span: { id, name }, depth }) => {
    const pair = pairs.get(id);
    return " ".repeat(depth) + (pair?.left ? (pair.right ? "" : "-") : "+") + name;
  });
}

describe("align", () => {
  it("pairs by names in order, and puts what one side has between", () => {
    expect(rows(names("a", "b", "c", "d"), names("a", "c", "x", "d"))).toEqual(["a", "-b", "c", "+x", "d"]);
  });

  it("pairs names that differ in digits, calls of other models, and lone roots", () => {
    expect(rows(names("start", "step 7"), names("start", "step 12"))).toEqual(["start", "step 7"]);
    const call = (model: string) => [span("0"), span("1", { name: `chat ${model}`, kind: "model", start: 1 })];
    expect(rows(call("gpt"), call("claude"))).toEqual(["step", "chat gpt"]);
    expect(rows([span("0", { name: "refund" })], [span("0", { name: "rebook" })])).toEqual(["refund"]);
  });

  it("keeps the children of a span without its like on their side", () => {
    const child = span("1", { name: "child", parentId: "0" });
    expect(rows([span("0", { name: "a" }), child], names("b", "c"))).toEqual(["-a", " -child", "+b", "+c"]);
  });

  it("says what differs, and which rows explain it", () => {
    const has = { ...nothing, input: true };
    const root = (id: string, isFailed: boolean) => span(id, { isFailed, end: 900 });
    const left = [
      root("l", true),
      span("l1", { name: "call", kind: "model", parentId: "l", has, input: 1, model: "a", end: 500 }),
    ];
    const right = [
      root("r", false),
      span("r1", { name: "call", kind: "model", parentId: "r", has, input: 2, model: "b", end: 100 }),
    ];
    const { pairs, causes } = aligned(tree(...left), tree(...right));
    expect(pairs.get("l")?.differs).toEqual(["status"]);
    expect(pairs.get("l1")?.differs).toEqual(["model", "input", "time"]);
    expect(causes.map(({ span: { id } }) => id)).toEqual(["l1"]);
  });

  it("counts contents that only opening compares", () => {
    const has = { ...nothing, input: true };
    const { unread, pairs } = aligned(tree(span("l", { has, input: 1 })), tree(span("r", { has })));
    expect([unread, pairs.get("l")?.differs]).toEqual([1, []]);
  });

  const spans = fc.array(
    fc.record({
      name: fc.constantFrom("a", "b", "c 1", "c 2"),
      kind: fc.constantFrom("model" as const, "tool" as const),
      up: fc.nat(8),
    }),
    { maxLength: 60 },
  );
  const built = (prefix: string, made: readonly { name: string; kind: "model" | "tool"; up: number }[]) =>
    made.map(({ name, kind, up }, n) =>
      span(prefix + n, {
        name,
        kind,
        start: n,
        parentId: up === 0 || n === 0 ? undefined : prefix + Math.max(0, n - up),
      }),
    );

  it("has every span once, in its trace's order and below its parent, the same each time", () => {
    fc.assert(
      fc.property(spans, spans, (a, b) => {
        const [left, right] = [buildTree(built("l", a)), buildTree(built("r", b))];
        const result = aligned(left, right);
        const pairs = result.tree.nodes.map(({ span: { id } }) => result.pairs.get(id));
        for (const [own, of] of [
          [left, "left"],
          [right, "right"],
        ] as const) {
          const ids = pairs.flatMap((pair) => pair?.[of]?.id ?? []);
          expect(ids).toEqual(own.nodes.map(({ span: { id } }) => id));
        }
        for (const {
          span: { id },
          parent,
          children,
          order,
        } of result.tree.nodes) {
          expect(result.tree.nodes[order]?.span.id).toBe(id);
          const [pair, above] = [result.pairs.get(id), parent && result.pairs.get(parent.span.id)];
          if (pair?.left) expect(left.byId.get(pair.left.id)?.parent?.span.id).toBe(above?.left?.id);
          if (pair?.right) expect(right.byId.get(pair.right.id)?.parent?.span.id).toBe(above?.right?.id);
          for (const child of children) expect(child.parent?.span.id).toBe(id);
        }
        const again = aligned(left, right);
        expect(again.tree.nodes.map(({ span: { id } }) => id)).toEqual(result.tree.nodes.map(({ span: { id } }) => id));
      }),
      randomRuns(200),
    );
  });

  it("pairs a trace with itself without a difference", () => {
    fc.assert(
      fc.property(spans, (made) => {
        const { pairs, causes, tree: merged } = aligned(buildTree(built("l", made)), buildTree(built("r", made)));
        expect(merged.nodes).toHaveLength(made.length);
        expect([...pairs.values()].flatMap(({ differs }) => differs)).toEqual([]);
        expect(causes).toEqual([]);
      }),
      randomRuns(100),
    );
  });

  it("takes 100,000 flat spans a side in small steps", () => {
    const flat = (prefix: string, every: number) =>
      buildTree(
        Array.from({ length: 100_000 }, (_, n) => span(prefix + n, { name: `tool ${(n * every) % 401}`, start: n })),
      );
    const [left, right] = [flat("l", 7), flat("r", 11)];
    const { tree: merged, turns } = aligned(left, right);
    expect(turns).toBeGreaterThan(merged.nodes.length / 200);
    expect(merged.nodes.length).toBeGreaterThanOrEqual(100_000);
  });
});
