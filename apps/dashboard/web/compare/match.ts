/** Steps that two traces, or two texts, may take to be matched exactly; what they have used counts for all of their lists. */
export interface Budget {
  left: number;
}

/** A slower search than this seldom finds more than the quick one. */
const maxEdits = 1_000;
const stepsPerTurn = 1_024;

/**
 * For each item of the first list the index of its equal in the second, or -1; the order of both is kept. The longest match by
 * Myers (1986) while the budget lasts, then {@link matchByNumber}: at most O(n log n) beyond the budget.
 */
export function* matchInOrder(
  first: readonly number[],
  second: readonly number[],
  budget: Budget,
): Generator<void, Int32Array> {
  const matched = new Int32Array(first.length).fill(-1);
  let start = 0;
  let [end, otherEnd] = [first.length, second.length];
  while (start < end && start < otherEnd && first[start] === second[start]) matched[start] = start++;
  while (end > start && otherEnd > start && first[end - 1] === second[otherEnd - 1]) matched[--end] = --otherEnd;
  if (start === end || start === otherEnd) return matched;
  const [a, b] = [first.slice(start, end), second.slice(start, otherEnd)];
  const pairs = (yield* matchByEdits(a, b, budget)) ?? (yield* matchByNumber(a, b));
  for (const [at, other] of pairs) matched[start + at] = start + other;
  return matched;
}

type Pairs = (readonly [at: number, other: number])[];

function* matchByEdits(a: readonly number[], b: readonly number[], budget: Budget): Generator<void, Pairs | undefined> {
  const most = Math.min(a.length + b.length, maxEdits);
  /** By diagonal, the furthest index of `a`; the middle one is at `most`. */
  const reach = new Int32Array(2 * most + 2);
  const before: Int32Array[] = [];
  let steps = 0;
  for (let edits = 0; edits <= most; edits++) {
    before.push(reach.slice(most - edits, most + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = nextOf(reach, most + diagonal, diagonal, edits);
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) {
        x++;
        steps++;
      }
      reach[most + diagonal] = x;
      if (x >= a.length && x - diagonal >= b.length) return pairsOf(before, a.length, b.length);
      if (++steps < stepsPerTurn) continue;
      budget.left -= steps;
      steps = 0;
      if (budget.left <= 0) return undefined;
      yield;
    }
  }
  budget.left -= steps;
  return undefined;
}

/** Where an edit leads on a diagonal: down from the one above it, or right from the one below. */
function nextOf(reach: Int32Array, at: number, diagonal: number, edits: number): number {
  const [below, above] = [reach[at - 1] ?? 0, reach[at + 1] ?? 0];
  return diagonal === -edits || (diagonal !== edits && below < above) ? above : below + 1;
}

/** Walks the edits back from the end; what lies between them is equal. */
function pairsOf(before: readonly Int32Array[], endX: number, endY: number): Pairs {
  const pairs: Pairs = [];
  let [x, y] = [endX, endY];
  for (let edits = before.length - 1; edits > 0; edits--) {
    const reach = before[edits] ?? new Int32Array(0);
    const diagonal = x - y;
    const at = edits + diagonal;
    const isDown = diagonal === -edits || (diagonal !== edits && (reach[at - 1] ?? 0) < (reach[at + 1] ?? 0));
    const fromX = reach[isDown ? at + 1 : at - 1] ?? 0;
    const fromY = fromX - (isDown ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY) pairs.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  while (x > 0 && y > 0) pairs.push([--x, --y]);
  return pairs;
}

/** Pairs the n-th of each key with the n-th of the other list, and keeps the longest chain of pairs in order. */
function* matchByNumber(a: readonly number[], b: readonly number[]): Generator<void, Pairs> {
  const places = new Map<number, number[]>();
  let steps = 0;
  for (let at = b.length - 1; at >= 0; at--) {
    const key = b[at] ?? 0;
    const known = places.get(key);
    if (known) known.push(at);
    else places.set(key, [at]);
    if (++steps % stepsPerTurn === 0) yield;
  }
  /** The last pair of the chain of each length, and the pair before each. */
  const ends: (readonly [at: number, other: number])[] = [];
  const previous = new Map<number, readonly [at: number, other: number] | undefined>();
  for (let at = 0; at < a.length; at++) {
    if (++steps % stepsPerTurn === 0) yield;
    const other = places.get(a[at] ?? 0)?.pop();
    if (other === undefined) continue;
    let [from, to] = [0, ends.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((ends[middle]?.[1] ?? 0) < other) from = middle + 1;
      else to = middle;
    }
    previous.set(at, ends[from - 1]);
    ends[from] = [at, other];
  }
  const pairs: Pairs = [];
  for (let pair = ends.at(-1); pair; pair = previous.get(pair[0])) pairs.push(pair);
  return pairs;
}
