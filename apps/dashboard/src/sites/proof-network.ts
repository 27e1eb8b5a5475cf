import { Resolver } from "node:dns/promises";
import { connect as connectTls } from "node:tls";
import type { ProofNetwork } from "./find-proof.js";

const answerTimeoutMs = 2_000;

/** Codes of DNS for a name without such records. */
const emptyCodes = new Set(["ENODATA", "ENOTFOUND"]);

async function orNone<Item>(answer: Promise<Item[]>): Promise<Item[]> {
  return answer.catch((error: NodeJS.ErrnoException) => {
    if (emptyCodes.has(error.code ?? "")) return [];
    throw error;
  });
}

/** The internet: addresses and records by DNS alone, without this machine's list of hosts, and TLS on port 443. */
export function createProofNetwork(): ProofNetwork {
  const resolver = () => new Resolver({ timeout: answerTimeoutMs, tries: 2 });
  return {
    async resolve(host) {
      const answers = await Promise.all([orNone(resolver().resolve4(host)), orNone(resolver().resolve6(host))]);
      return answers.flat();
    },
    resolveText: async (name) => (await orNone(resolver().resolveTxt(name))).map((parts) => parts.join("")),
    connect: (address, host) => connectTls({ host: address, port: 443, servername: host, ALPNProtocols: ["http/1.1"] }),
  };
}
