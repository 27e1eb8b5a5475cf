import { InvalidArgumentError } from "commander";

/** Reads a share such as `20%` or `2.5%` as a number of percent. */
export function percent(text: string): number {
  const [, value] = /^(\d{1,3}(?:\.\d{1,3})?) ?%?$/.exec(text) ?? [];
  if (value === undefined) throw new InvalidArgumentError("It must be a share such as 20%.");
  return Number(value);
}
