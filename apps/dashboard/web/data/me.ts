import type { Me } from "../../src/session/me.route.js";
import { type QueryState, useQuery } from "./query.js";

/** The person, the account and the addresses shown in examples. */
export function useMe(isWanted = true): QueryState<Me> {
  return useQuery<Me>(isWanted ? "/me" : undefined, { staleMs: 60_000 });
}
