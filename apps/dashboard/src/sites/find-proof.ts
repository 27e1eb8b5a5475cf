import { Resolver } from "node:dns/promises";
import { request } from "node:http";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { isPublicAddress } from "@waymark/service/fields";

/** What an account publishes to get a domain's events for good. One of both is enough. */
export interface SiteProof {
  text: string;
  fileUrl: string;
  recordName: string;
}

/** The answer of `POST /sites/:id/proof`. The reasons say why a place proves nothing. */
export interface ProofAnswer {
  isProven: boolean;
  file?: string;
  record?: string;
}

/** The outside, for tests to replace. */
export interface ProofNetwork {
  resolve(host: string): Promise<string[]>;
  resolveText(name: string): Promise<string[]>;
  /** Opens an encrypted connection to an address, checked against the host's certificate. */
  connect(address: string, host: string): Duplex;
}

interface ProofOptions {
  network: ProofNetwork;
  timeoutMs?: number;
}

const maxBytes = 1_024;
const maxRedirects = 2;

class NoProof extends Error {}

/**
 * Looks for a proof at both places at once, within five seconds. The file's host resolves to public addresses only, and the
 * connection goes to the address that was checked, so nobody reaches the own network through this server.
 */
export async function findProof(proof: SiteProof, { network, timeoutMs = 5_000 }: ProofOptions): Promise<ProofAnswer> {
  const signal = AbortSignal.timeout(timeoutMs);
  const [file, record] = await Promise.all([
    reasonOf(checkFile(proof, network, signal), signal),
    reasonOf(checkRecord(proof, network), signal),
  ]);
  if (file === undefined || record === undefined) return { isProven: true };
  return { isProven: false, file, record };
}

/** Why the check failed; undefined when it passed. Only our own sentences leave the server. */
async function reasonOf(check: Promise<void>, signal: AbortSignal): Promise<string | undefined> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new NoProof("It took too long to answer.")), { once: true });
  });
  try {
    await Promise.race([check, late]);
    return undefined;
  } catch (error) {
    return error instanceof NoProof ? error.message : "It could not be reached.";
  }
}

async function checkRecord({ recordName, text }: SiteProof, network: ProofNetwork): Promise<void> {
  const records = await network.resolveText(recordName);
  if (records.length === 0) throw new NoProof("There is no TXT record.");
  if (!records.some((record) => record.trim() === text)) throw new NoProof("The TXT record has another text.");
}

async function checkFile({ fileUrl, text }: SiteProof, network: ProofNetwork, signal: AbortSignal): Promise<void> {
  const start = new URL(fileUrl);
  let url = start;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const { status, location, body } = await fetchFile(url, network, signal);
    if (location === undefined) {
      if (status !== 200) throw new NoProof(`The file answers ${status}.`);
      if (!body.split(/\r?\n/).some((line) => line.trim() === text)) throw new NoProof("The file has another text.");
      return;
    }
    url = new URL(location, url);
    // `www.` is the same claim; any other host proves nothing about this domain.
    const isOwnHost = url.hostname === start.hostname || url.hostname === `www.${start.hostname}`;
    if (url.protocol !== "https:" || url.port !== "" || !isOwnHost) throw new NoProof("It leads to another host.");
  }
  throw new NoProof("It redirects too often.");
}

interface FileAnswer {
  status: number;
  location?: string;
  body: string;
}

async function fetchFile(url: URL, network: ProofNetwork, signal: AbortSignal): Promise<FileAnswer> {
  const addresses = await network.resolve(url.hostname);
  const [address] = addresses;
  if (address === undefined) throw new NoProof("The domain has no address.");
  if (!addresses.every(isPublicAddress)) throw new NoProof("The domain has an address that is not public.");
  signal.throwIfAborted();
  return new Promise<FileAnswer>((resolve, reject) => {
    const socket = network.connect(address, url.hostname);
    const asked = request(
      {
        createConnection: () => socket,
        host: url.hostname,
        path: url.pathname + url.search,
        headers: {
          Host: url.hostname,
          "User-Agent": "Waymark domain check",
          Accept: "text/plain",
          Connection: "close",
        },
        maxHeaderSize: 8_192,
        signal,
      },
      (response) => {
        const { statusCode: status = 0, headers } = response;
        if (status >= 300 && status < 400 && headers.location !== undefined) {
          response.destroy();
          resolve({ status, location: headers.location, body: "" });
          return;
        }
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes <= maxBytes) chunks.push(chunk);
          else response.destroy(new NoProof(`The file has more than ${maxBytes} bytes.`));
        });
        response.on("end", () => resolve({ status, body: Buffer.concat(chunks).toString("utf8") }));
        response.on("error", reject);
      },
    );
    asked.on("error", reject);
    asked.end();
  });
}

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
