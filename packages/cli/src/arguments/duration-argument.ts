import { InvalidArgumentError } from "commander";

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Reads a time such as `90s`, `10m`, `2h` or `1d` as seconds. */
export function seconds(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError("It must be a time such as 90s, 10m, 2h or 1d.");
  return Number(amount) * (unitSeconds[unit] ?? 0);
}
