/** The column of this head, and its direction. */
export interface Order {
  text: string;
  isDescending: boolean;
}

type Key = string | number | null | undefined;

const { compare } = new Intl.Collator(undefined, { numeric: true });

/** Sorts a copy; equal rows keep their order, and rows without a value come last in both directions. */
export function sortRows<Row>(rows: readonly Row[], by: (row: Row) => Key, isDescending: boolean): Row[] {
  const sign = isDescending ? -1 : 1;
  return [...rows].sort((one, two) => {
    const [a = null, b = null] = [by(one), by(two)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : compare(String(a), String(b)));
  });
}

/** The rows with each word of a text, in any order and letter case. */
export function searchRows<Row>(rows: readonly Row[], text: string, textOf: (row: Row) => string): readonly Row[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const own = textOf(row).toLowerCase();
    return words.every((word) => own.includes(word));
  });
}
