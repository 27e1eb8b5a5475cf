import { randomUUID } from "node:crypto";
import type { ProofNetwork } from "./find-proof.js";

/** A domain of nobody else. */
export const newDomain = () => `${randomUUID()}.example`;

/** A network with a TXT record per name in `records`, and no addresses. */
export function createRecordNetwork(): { records: Map<string, string>; network: ProofNetwork } {
  const records = new Map<string, string>();
  const network: ProofNetwork = {
    resolve: async () => [],
    resolveText: async (name) => [records.get(name) ?? []].flat(),
    connect: () => {
      throw new Error("There is no address to connect to");
    },
  };
  return { records, network };
}
