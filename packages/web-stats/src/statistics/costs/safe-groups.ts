/** No smaller group of visitors is shown, nor follows from what is shown. */
export const leastVisitors = 5;

/** Of a dimension and day; the smaller ones are in `(other)`. */
const maxGroups = 1_000;

const visitsPerStep = 2_000;

/** A visit, as far as groups tell it from others: the values of a dimension that it has. */
export interface Groupable {
  readonly visitor: string;
  valuesOf(dimension: number): readonly string[];
}

export interface Group<Visit> {
  /** Null for the rest of the dimension. */
  readonly value: string | null;
  readonly visits: readonly Visit[];
}

/**
 * Groups visits by each dimension in turn. A set of parts divides the visits, and a group is made of whole parts alone: a value
 * divides a part where both sides have {@link leastVisitors} visitors. Sums and differences of any groups, of any dimensions, are
 * then of parts with as many, and no arithmetic shows fewer. Fewer visitors in all have no group.
 * @param onStep called between steps of some thousand visits
 */
export async function groupSafely<Visit extends Groupable>(
  visits: readonly Visit[],
  dimensions: number,
  onStep: () => Promise<void>,
): Promise<Group<Visit>[][]> {
  const all = new Set(isEnough(visits) ? visits : []);
  const partOf = new Map(Array.from(all, (visit) => [visit, all]));
  const groups: Group<Visit>[][] = [];
  for (let dimension = 0; dimension < dimensions; dimension++) {
    const found: Group<Visit>[] = [];
    const rest = new Set(partOf.keys());
    for (const [value, members] of all.size > 0 ? await valuesBySize(visits, dimension, onStep) : []) {
      await onStep();
      const taken = divide(partOf, members);
      if (taken.length > 0) found.push({ value, visits: taken });
      for (const visit of taken) rest.delete(visit);
    }
    if (rest.size > 0) found.push({ value: null, visits: [...rest] });
    groups.push(found);
  }
  return groups;
}

/** Divides the parts of a value's visits where both sides have enough visitors. @returns the visits that are whole parts now */
function divide<Visit extends Groupable>(partOf: Map<Visit, Set<Visit>>, members: readonly Visit[]): Visit[] {
  const insides = new Map<Set<Visit>, Set<Visit>>();
  for (const visit of members) {
    const part = partOf.get(visit);
    if (part) insides.set(part, (insides.get(part) ?? new Set()).add(visit));
  }
  const taken: Visit[] = [];
  for (const [part, inside] of insides) {
    if (inside.size < part.size) {
      if (!isEnough(inside) || !isEnough(without(part, inside))) continue;
      for (const visit of inside) {
        part.delete(visit);
        partOf.set(visit, inside);
      }
    }
    for (const visit of inside) taken.push(visit);
  }
  return taken;
}

function* without<Visit>(part: ReadonlySet<Visit>, inside: ReadonlySet<Visit>): Generator<Visit> {
  for (const visit of part) if (!inside.has(visit)) yield visit;
}

/** The visits of each value with enough visitors, the largest first. */
async function valuesBySize<Visit extends Groupable>(
  visits: readonly Visit[],
  dimension: number,
  onStep: () => Promise<void>,
): Promise<(readonly [value: string, members: readonly Visit[]])[]> {
  const members = new Map<string, Visit[]>();
  for (const [n, visit] of visits.entries()) {
    if (n % visitsPerStep === 0) await onStep();
    for (const value of visit.valuesOf(dimension)) {
      const own = members.get(value);
      if (own) own.push(visit);
      else members.set(value, [visit]);
    }
  }
  return [...members]
    .filter(([, own]) => isEnough(own))
    .map(([value, own]) => ({ value, own, visitors: new Set(own.map(({ visitor }) => visitor)).size }))
    .sort((a, b) => b.visitors - a.visitors || (a.value < b.value ? -1 : 1))
    .slice(0, maxGroups)
    .map(({ value, own }) => [value, own] as const);
}

function isEnough(visits: Iterable<Groupable>): boolean {
  const visitors = new Set<string>();
  for (const { visitor } of visits) if (visitors.add(visitor).size >= leastVisitors) return true;
  return false;
}
