/** Collects the values of an option that may be repeated. */
export function collect(value: string, values: string[] = []): string[] {
  return [...values, value];
}
