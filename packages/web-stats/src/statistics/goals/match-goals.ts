import type { TextColumn } from "../columns/day-part.js";
import { createFinder } from "../text-finder.js";
import type { Work } from "../work.js";
import type { Goal } from "./goal.js";

/** A test for the paths of a page pattern: `*` stands for any text, the rest for itself. It looks at a path once, whatever the pattern. */
export interface PagePattern {
  matches(path: string): boolean;
  /** Whether a test looks through the whole path. */
  readonly isSearch: boolean;
}

export function compilePattern(pattern: string): PagePattern {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return { matches: (path) => path === pattern, isSearch: false };
  const finders = rest.filter((part) => part !== "").map((part) => createFinder([part]));
  const matches = (path: string) => {
    if (!path.startsWith(first)) return false;
    let at = first.length;
    for (const find of finders) {
      at = find(path, at);
      if (at < 0) return false;
    }
    return path.length - last.length >= at && path.endsWith(last);
  };
  return { matches, isSearch: finders.length > 0 };
}

type Rule = Pick<Goal, "event" | "property" | "value" | "page">;

/** Which goals events fulfil. */
export interface GoalMatch {
  /** Of `candidates`: one for each 32 goals. */
  readonly words: number;
  /** The goals of an event by its page or name, as bits: goal 33 is the second one of word 1. */
  candidates(event: number, word: number): number;
  /** Whether an event has the property of a candidate, if that has one. */
  fulfils(goal: number, event: number): boolean;
}

/** The columns of events that goals are about. */
interface EventColumns {
  /** Id 0 stands for a page view. */
  readonly names: TextColumn;
  readonly pages: TextColumn;
  /** JSON; undefined where no goal has a property. */
  readonly props: TextColumn | undefined;
}

/** The values that fulfil each goal, a bit for each pair: a hundred goals of ten thousand values are 160 kB. */
class Bits {
  readonly words: number;
  readonly bits: Int32Array;

  constructor(goals: number, values: number) {
    this.words = Math.ceil(goals / 32);
    this.bits = new Int32Array(this.words * values);
  }

  set(goal: number, value: number): void {
    const word = value * this.words + (goal >>> 5);
    this.bits[word] = (this.bits[word] ?? 0) | (1 << (goal & 31));
  }

  has(goal: number, value: number): boolean {
    return ((this.bits[value * this.words + (goal >>> 5)] ?? 0) & (1 << (goal & 31))) !== 0;
  }
}

/** Tests each page, name and combination of properties once, in slices of work. */
export async function matchGoals(
  { names, pages, props }: EventColumns,
  goals: readonly Rule[],
  work: Work,
): Promise<GoalMatch> {
  const ofPage = new Bits(goals.length, pages.values.length);
  const ofName = new Bits(goals.length, names.values.length);
  for (const [goal, { page, event }] of goals.entries()) {
    if (page !== null) await matchPages(ofPage, goal, { page, pages, work });
    const name = event === null ? -1 : names.values.indexOf(event, 1);
    if (name > 0) ofName.set(goal, name);
    if (work.spend(names.values.length)) await work.rest();
  }
  const ofProps = await matchProps(props, goals, work);
  const [nameIds, pageIds, { words }] = [names.ids, pages.ids, ofPage];
  const [pageBits, nameBits] = [ofPage.bits, ofName.bits];
  const hasProperty = goals.map(({ property }) => property !== null);
  return {
    words,
    candidates(event, word) {
      const name = nameIds[event] ?? 0;
      return (name === 0 ? pageBits[(pageIds[event] ?? 0) * words + word] : nameBits[name * words + word]) ?? 0;
    },
    fulfils: (goal, event) => !hasProperty[goal] || ofProps.has(goal, props?.ids[event] ?? 0),
  };
}

async function matchPages(
  bits: Bits,
  goal: number,
  { page, pages, work }: { page: string; pages: TextColumn; work: Work },
): Promise<void> {
  const { matches, isSearch } = compilePattern(page);
  if (work.spend(20 * page.length)) await work.rest();
  for (const [id, path] of pages.values.entries()) {
    if (isSearch ? work.look(path.length) : work.spend(10)) await work.rest();
    if (matches(path)) bits.set(goal, id);
  }
}

/** The combinations of properties that have the value of goals with one. */
async function matchProps(props: TextColumn | undefined, goals: readonly Rule[], work: Work): Promise<Bits> {
  const asking = [...goals.entries()].filter(([, { property }]) => property !== null);
  if (asking.length === 0) return new Bits(0, 0);
  if (!props) throw new Error("The events were read without their properties");
  const bits = new Bits(goals.length, props.values.length);
  for (const [id, json] of props.values.entries()) {
    if (work.look(5 * json.length + 10 * asking.length)) await work.rest();
    if (json === "") continue;
    const values = JSON.parse(json) as Record<string, unknown>;
    for (const [goal, { property, value }] of asking) {
      if (property !== null && Object.hasOwn(values, property) && String(values[property]) === value)
        bits.set(goal, id);
    }
  }
  return bits;
}
