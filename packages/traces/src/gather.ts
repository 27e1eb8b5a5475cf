/** Makes functions that run what is handed in at the same time together; the service's `createGather` gives one. */
export type Gather = <Item extends { readonly accountId: string }, Result>(options: {
  name: string;
  run(rows: readonly Item[]): Promise<readonly Result[]>;
  maxInFlight?: number;
  maxInFlightPerAccount?: number;
  maxRows?: number;
  kindOf?(row: Item): string;
}) => (row: Item) => Promise<Result>;
