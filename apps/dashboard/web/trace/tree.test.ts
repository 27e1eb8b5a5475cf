import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { testSpan } from "./spans.fixture.js";
import type { Span } from "./spans.js";
import { buildTree, openRows, rowOf, rowsInSight } from "./tree.js";

const span = (id: string, parentId?: string, more: Partial<Span> = {}) => testSpan(id, { parentId, ...more });

const shape = (spans: Span[]) => buildTree(spans).nodes.map(({ span: { id }, depth, mark }) => [id, depth, mark]);

describe("buildTree", () => {
  it("orders children by start, and numbers siblings", () => {
    const tree = buildTree([span("a"), span("late", "a", { start: 5 }), span("early", "a", { start: 1 })]);
    expect(tree.nodes.map(({ span: { id }, depth }) => [id, depth])).toEqual([
      ["a", 0],
      ["early", 1],
      ["late", 1],
    ]);
    expect(tree.byId.get("late")).toMatchObject({ position: 2, siblings: 2 });
  });

  it("leaves a span with an unknown parent at the top, marked", () => {
    expect(shape([span("a", "nowhere")])).toEqual([["a", 0, "no parent found"]]);
  });

  it("cuts a circle at its first span, also when a later walk enters it elsewhere", () => {
    const mark = "its parents lead in a circle";
    expect(shape([span("out", "c"), span("a", "b"), span("b", "c"), span("c", "a")])).toEqual([
      ["a", 0, mark],
      ["c", 1, undefined],
      ["out", 2, undefined],
      ["b", 2, undefined],
    ]);
    expect(shape([span("own", "own")])).toEqual([["own", 0, mark]]);
  });

  it("ends for any parents, with each span once below its depth's parent", () => {
    const graph = fc.array(fc.option(fc.nat(30), { nil: undefined }), { maxLength: 30 });
    fc.assert(
      fc.property(graph, (parents) => {
        const tree = buildTree(
          parents.map((parent, at) => span(`${at}`, parent === undefined ? undefined : `${parent}`)),
        );
        expect(new Set(tree.nodes.map((node) => node.span.id)).size).toBe(parents.length);
        expect(tree.nodes).toHaveLength(parents.length);
        for (const { depth, parent } of tree.nodes) expect(depth).toBe(parent ? parent.depth + 1 : 0);
      }),
    );
  });

  it("takes a chain of 100,000", () => {
    const chain = Array.from({ length: 100_000 }, (_, at) => span(`${at}`, at === 0 ? undefined : `${at - 1}`));
    expect(buildTree(chain).maxDepth).toBe(99_999);
  });
});

describe("openRows", () => {
  it("leaves out what is below closed spans", () => {
    const tree = buildTree([span("a"), span("b", "a"), span("c", "b"), span("d")]);
    const ids = (closed: string[]) => openRows(tree, new Set(closed)).map((node) => node.span.id);
    expect(ids([])).toEqual(["a", "b", "c", "d"]);
    expect(ids(["b"])).toEqual(["a", "b", "d"]);
    expect(ids(["a", "b"])).toEqual(["a", "d"]);
  });
});

describe("rowOf", () => {
  it("finds a node's row, and the closed one above a hidden node", () => {
    const tree = buildTree([span("a"), span("b", "a"), span("c", "b"), span("d")]);
    const rows = openRows(tree, new Set(["b"]));
    expect(tree.nodes.map((node) => rowOf(rows, node))).toEqual([0, 1, 1, 2]);
    expect(tree.nodes.map((node) => rowOf([], node))).toEqual([-1, -1, -1, -1]);
  });
});

describe("rowsInSight", () => {
  it("has the rows in sight, within the list", () => {
    expect(rowsInSight(0, 280, 28, 1_000)).toEqual({ from: 0, to: 24 });
    expect(rowsInSight(2_800, 280, 28, 1_000)).toEqual({ from: 88, to: 120 });
    expect(rowsInSight(2_820, 280, 28, 1_000)).toEqual({ from: 88, to: 120 });
    expect(rowsInSight(90_000, 280, 28, 10)).toEqual({ from: 10, to: 10 });
  });
});
