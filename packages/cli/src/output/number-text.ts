/** A count with separators, such as `10,000`. */
export function formatCount(value: number): string {
  return value.toLocaleString("en-US");
}

/** A count with its noun, such as `1 key` or `2 keys`. */
export function inWords(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;
}
