import type { TextColumn } from "../columns/day-part.js";
import type { Goal } from "./goal.js";
import { compilePattern } from "./page-pattern.js";

type Rule = Pick<Goal, "event" | "property" | "value" | "page">;

/** Indexes of goals. */
type Indexes = readonly number[];

/** Which goals events fulfil. */
export interface GoalMatch {
  /** The goals of an event by its page or name; an event of a goal with a property must have it, too. */
  candidates(event: number): Indexes;
  /** Whether an event has the property of a candidate, if that has one. */
  fulfils(goal: number, event: number): boolean;
}

const none: Indexes = [];

/** The columns of events that goals are about. */
interface EventColumns {
  /** Id 0 stands for a page view. */
  readonly names: TextColumn;
  readonly pages: TextColumn;
  /** JSON; undefined where no goal has a property. */
  readonly props: TextColumn | undefined;
}

/** Tests each page and name once, and each combination of properties where an event needs it. */
export function matchGoals({ names, pages, props }: EventColumns, goals: readonly Rule[]): GoalMatch {
  const patterns = goals.map(({ page }) => (page === null ? undefined : compilePattern(page)));
  const ofPage = pages.values.map((path) => indexesOf(goals, (_, index) => patterns[index]?.(path) === true));
  const ofName = names.values.map((name, id) => (id === 0 ? none : indexesOf(goals, ({ event }) => event === name)));
  const [nameIds, pageIds] = [names.ids, pages.ids];
  const ofProps: (Indexes | undefined)[] = [];
  function goalsOfProps(event: number): Indexes {
    if (!props) throw new Error("The events were read without their properties");
    const id = props.ids[event] ?? 0;
    ofProps[id] ??= matchProps(props.values[id] ?? "", goals);
    return ofProps[id];
  }
  return {
    candidates: (event) => {
      const name = nameIds[event] ?? 0;
      return (name === 0 ? ofPage[pageIds[event] ?? 0] : ofName[name]) ?? none;
    },
    fulfils: (goal, event) => goals[goal]?.property === null || goalsOfProps(event).includes(goal),
  };
}

function indexesOf(goals: readonly Rule[], isOf: (goal: Rule, index: number) => boolean): Indexes {
  let indexes: number[] | undefined;
  for (const [index, goal] of goals.entries()) {
    if (!isOf(goal, index)) continue;
    indexes ??= [];
    indexes.push(index);
  }
  return indexes ?? none;
}

/** The goals with a property that has their value. @param json an event's properties; empty for none */
function matchProps(json: string, goals: readonly Rule[]): Indexes {
  if (json === "") return none;
  const props = JSON.parse(json) as Record<string, unknown>;
  return indexesOf(
    goals,
    ({ property, value }) => property !== null && Object.hasOwn(props, property) && String(props[property]) === value,
  );
}
