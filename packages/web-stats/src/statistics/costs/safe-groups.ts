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
  let parts: (readonly Visit[])[] = isEnough(visits) ? [visits] : [];
  const groups: Group<Visit>[][] = [];
  for (let dimension = 0; dimension < dimensions; dimension++) {
    const found: Group<Visit>[] = [];
    const rest = new Set(parts.flat());
    for (const value of await valuesBySize(visits, dimension, onStep)) {
      await onStep();
      const has = (visit: Visit) => visit.valuesOf(dimension).includes(value);
      const divided = parts.map((part) => divide(part, has));
      const taken = divided.flatMap(([inside]) => inside);
      if (taken.length === 0) continue;
      parts = divided.flat().filter((part) => part.length > 0);
      found.push({ value, visits: taken });
      for (const visit of taken) rest.delete(visit);
    }
    if (rest.size > 0) found.push({ value: null, visits: [...rest] });
    groups.push(found);
  }
  return groups;
}

/** A part's visits inside and outside of a group; all are outside where one side has too few visitors. */
function divide<Visit extends Groupable>(
  part: readonly Visit[],
  has: (visit: Visit) => boolean,
): readonly [inside: readonly Visit[], outside: readonly Visit[]] {
  const inside = part.filter(has);
  if (inside.length === part.length) return [part, []];
  const outside = part.filter((visit) => !has(visit));
  return isEnough(inside) && isEnough(outside) ? [inside, outside] : [[], part];
}

async function valuesBySize(visits: readonly Groupable[], dimension: number, onStep: () => Promise<void>) {
  const visitors = new Map<string, Set<string>>();
  for (const [n, visit] of visits.entries()) {
    if (n % visitsPerStep === 0) await onStep();
    for (const value of visit.valuesOf(dimension)) {
      const known = visitors.get(value) ?? new Set();
      visitors.set(value, known.add(visit.visitor));
    }
  }
  return [...visitors]
    .filter(([, { size }]) => size >= leastVisitors)
    .sort(([a, { size: one }], [b, { size: other }]) => other - one || (a < b ? -1 : 1))
    .slice(0, maxGroups)
    .map(([value]) => value);
}

function isEnough(visits: readonly Groupable[]): boolean {
  const visitors = new Set<string>();
  return visits.some(({ visitor }) => visitors.add(visitor).size >= leastVisitors);
}
