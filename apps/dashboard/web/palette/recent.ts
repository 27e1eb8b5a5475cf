import { keep, read } from "../ui/preferences.js";

/** Something to go to. */
export interface Choice {
  text: string;
  note?: string;
  href: string;
}

const maxRecent = 6;
const keyOf = (accountId: string) => `waymark.recent.${accountId}`;

/** What was chosen in this browser for the account, the last first. */
export function readChoices(accountId: string): readonly Choice[] {
  try {
    const kept: unknown = JSON.parse(read(keyOf(accountId)) ?? "[]");
    return (kept as Choice[]).filter(({ text, href }) => typeof text === "string" && href.startsWith("/dashboard/"));
  } catch {
    return [];
  }
}

export function keepChoice(accountId: string, { text, note = "", href }: Choice): void {
  const others = readChoices(accountId).filter((choice) => choice.href !== href);
  keep(keyOf(accountId), JSON.stringify([{ text, note, href }, ...others].slice(0, maxRecent)));
}
