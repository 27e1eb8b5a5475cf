/** What `WAYMARK_PROCESS` says in a process of several: its number, from 1, and how many there are. */
export const processVariable = "WAYMARK_PROCESS";

/** An amount of a key, told to the other processes. */
export type Told = readonly [topic: string, key: string, amount: number];

export type ToPrimary =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "answer"; readonly id: number; readonly answer: unknown }
  | { readonly kind: "tell"; readonly told: readonly Told[] };

export type Question = "metrics" | "ready";

export type ToMember =
  | { readonly kind: "stop" }
  | { readonly kind: "ask"; readonly id: number; readonly question: Question }
  | { readonly kind: "tell"; readonly from: number; readonly told: readonly Told[] }
  | { readonly kind: "joined" }
  | { readonly kind: "gone"; readonly from: number };

/** The number of this process and of all; undefined in the only process and in the primary. */
export function placeIn(env: NodeJS.ProcessEnv): Place | undefined {
  const [number, of] = (env[processVariable] ?? "").split("/").map(Number);
  return number && of ? { number, of } : undefined;
}

export interface Place {
  readonly number: number;
  readonly of: number;
}
