import { useEffect, useState } from "preact/hooks";
import { useMe } from "../data/query.js";
import { keep, read } from "../ui/preferences.js";
import { type ColumnName, traceColumns, usualColumns } from "./traces-table.js";

export const columnNames = Object.keys(traceColumns) as ColumnName[];

/** The columns of a text with commas, unknown ones left out. */
export function readColumns(text: string): readonly ColumnName[] {
  const names = text.split(",");
  return columnNames.filter((name) => names.includes(name));
}

export const writeColumns = (columns: readonly ColumnName[]) => columns.join() || "none";

/** The parts of the list's rows for the columns; empty for the usual ones. */
export function partsFor(columns: readonly ColumnName[]): string {
  const needed = columns.flatMap((name) => {
    const column = traceColumns[name];
    return "needs" in column ? [column.needs] : [];
  });
  return needed.length === 0 ? "" : ["labels", "usage", "preview", ...needed].join();
}

const keyOf = (accountId: string) => `waymark.columns.${accountId}`;
const lastAccount = "waymark.account";

/**
 * The columns of an address, else those that the browser keeps for the account. The account that was open last counts until
 * the present one is known, so that the list's first request need not wait.
 */
export function useColumns(ofAddress: string) {
  const [, update] = useState(0);
  const known = useMe().data?.account.id;
  const account = known ?? read(lastAccount) ?? "";
  useEffect(() => {
    if (known !== undefined && known !== read(lastAccount)) keep(lastAccount, known);
  }, [known]);
  const kept = read(keyOf(account));
  const text = ofAddress || kept;
  return {
    columns: text === undefined ? usualColumns : readColumns(text),
    keepColumns(columns: readonly ColumnName[]) {
      keep(keyOf(account), writeColumns(columns));
      update((count) => count + 1);
    },
  };
}
