/** A row whose times are texts. */
export type TextTimes<Row> = {
  [Name in keyof Row]: Date extends Row[Name] ? Exclude<Row[Name], Date> | string : Row[Name];
};

/** A row as JSON and terminals show it: its times in ISO 8601, to the millisecond. */
export function textTimes<Row extends object>(row: Row): TextTimes<Row> {
  const members = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(members);
}
