import { performance } from "node:perf_hooks";
import { rowIsLocked, tryTransaction, withTransaction } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { inSteps } from "@waymark/service/http";
import type pg from "pg";
import { createClaimCheck } from "../attribution/machine-claims.js";
import type { MachineList } from "../attribution/machine-list.schema.js";
import { createClaimSettler, type NameResolver } from "../attribution/machine-names.js";
import { type Machines, machinesOf } from "../attribution/machine-store.query.js";
import { createMachineNamer, createSignerNamer, type NamedMachine } from "../attribution/machines.js";
import { createSignatureCheck, type Fetch } from "../attribution/signature-check.js";
import { type ClaimedRequest, readSignedRequest, type SignedRequest } from "../attribution/signed-request.js";
import { cutToBytes } from "../attribution/source-classifier.js";
import { holdHorizon } from "../maintenance/event-retention.query.js";
import { lockSites, tryLockSites } from "../recording/record-events.query.js";
import { createSiteCommit, lockTimeoutMs, type SitePart } from "../recording/site-commit.js";
import { eventBounds } from "../recording/site-event.js";
import { countMachines } from "./count-machines.query.js";
import { readImportLine } from "./import-line.schema.js";
import { type EncodedMachines, MachineLines } from "./machine-lines.js";
import { OccurrenceCounter } from "./occurrences.js";

interface ServedRequest extends ClaimedRequest {
  readonly status: number;
  readonly ip: string | null;
  readonly referrer: string | null;
}

/** A request that its user agent, or a signature yet to be verified, makes one of a machine. */
interface Candidate {
  readonly request: ServedRequest;
  /** Null for a person's user agent. */
  readonly named: NamedMachine | null;
  readonly signer: { readonly named: NamedMachine; readonly signed: SignedRequest } | undefined;
}

/** Requests of one batch: no earlier line is beyond the counter's memory. */
const noEarlier = { read: async () => new Map<string, number>(), add: async () => undefined };

function createMachineFinder(list: MachineList) {
  const nameOf = createMachineNamer(list);
  const signerOf = createSignerNamer(list);
  const claimOf = createClaimCheck();

  function readSigner(request: ServedRequest, named: NamedMachine | null): Candidate["signer"] {
    const signed = readSignedRequest(request);
    const signer = signed && signerOf(signed.origin, named);
    return signed && signer && { named: signer, signed };
  }

  return {
    /** @param groupOf tells whose a request is; undefined for nobody's */
    *find(requests: readonly ServedRequest[], groupOf: (request: ServedRequest) => string | undefined) {
      const found = new Map<string, Candidate[]>();
      const left = { people: 0, unknown: 0 };
      for (const request of requests) {
        yield;
        const group = groupOf(request);
        if (group === undefined) {
          left.unknown++;
          continue;
        }
        const named = nameOf(request.userAgent);
        const signer = readSigner(request, named);
        if (!named && !signer) {
          left.people++;
          continue;
        }
        const candidates = found.get(group) ?? [];
        found.set(group, candidates);
        candidates.push({ request, named, signer });
      }
      return { found, ...left };
    },
    /** @param right the signatures that are right; without it a request is what its user agent says */
    *read(candidates: readonly Candidate[], right: ReadonlySet<SignedRequest>) {
      const lines = new MachineLines(new OccurrenceCounter(noEarlier));
      let people = 0;
      for (const { request, named, signer } of candidates) {
        yield;
        const verified = signer && right.has(signer.signed) ? signer.named : undefined;
        const machine = verified ?? named;
        if (!machine) {
          people++;
          continue;
        }
        const { url, status, ip, userAgent, referrer, at } = request;
        const path = cutToBytes(url.pathname, eventBounds.pathBytes) + url.search;
        const read = readImportLine({ ts: at, path, ip, referrer, user_agent: userAgent });
        if (!read.ok) throw new Error(`The schema lets through what an import refuses: ${read.problem}`);
        const claim = verified ? "verified" : claimOf(machine, ip, at.slice(0, 10));
        lines.add({ line: read.line, named: machine, status, claim });
      }
      return { lines, people };
    },
  };
}

interface Part extends SitePart {
  readonly machines: EncodedMachines;
}

/** Requests of machines that are counted, or the first day that takes some, where a request is older. */
type Counted = { readonly counted: number } | { readonly horizon: string };

/** A probe of `site_pkey` for each. */
const findSitesSql = "SELECT id FROM site WHERE id = ANY($1)";

/** Counts parts under their sites' locks. The erasure of a deleted site takes its lock later, so no row remains. */
async function countParts(client: pg.ClientBase, parts: readonly Part[]): Promise<Counted[]> {
  const horizon = await holdHorizon(client);
  const { rows } = await client.query<{ id: string }>(findSitesSql, [parts.map(({ siteId }) => siteId)]);
  const sites = new Set(rows.map(({ id }) => id));
  const results: Counted[] = [];
  for (const { siteId, machines } of parts) {
    const isEarly = horizon !== null && machines.requests.some(({ day }) => day < horizon);
    if (isEarly) results.push({ horizon });
    else results.push({ counted: sites.has(siteId) ? await countMachines(client, siteId, machines) : 0 });
  }
  return results;
}

function createMachineWriter(pool: pg.Pool): (siteId: string, machines: EncodedMachines) => Promise<Counted> {
  const commit = createSiteCommit<Part, Counted>({
    name: "record-machines",
    pool,
    countOf: ({ machines }) => machines.ids.length,
    run: (parts) =>
      withTransaction(pool, async (client) => {
        const free = await tryLockSites(client, [...new Set(parts.map(({ siteId }) => siteId))]);
        const own = parts.filter(({ siteId }) => free.has(siteId));
        const results = (await countParts(client, own)).values();
        return parts.map(({ siteId }) => (free.has(siteId) ? (results.next().value as Counted) : rowIsLocked));
      }),
    async runLocked(parts) {
      let results: (Counted | typeof rowIsLocked)[] = parts.map(() => rowIsLocked);
      await tryTransaction(pool, lockTimeoutMs, async (client) => {
        await lockSites(client, [...new Set(parts.map(({ siteId }) => siteId))]);
        results = await countParts(client, parts);
      });
      return results;
    },
  });
  return (siteId, machines) => commit.add({ siteId, machines, since: performance.now() });
}

/** A batch waits so long for keys of signatures, and for names of addresses; the next ones find them in memory. */
const maxWaitMs = { keys: 1_000, names: 200 } as const;

/** An account's sites with a domain, with or without `www.`. A range of `site_account_id_idx`. */
const findOwnSql = "SELECT id, domain FROM site WHERE account_id = $1 AND domain = ANY($2) ORDER BY id";

/** @returns the function that gives the ids of a domain's sites, with commas between; undefined for none */
async function findOwnSites(pool: pg.Pool, accountId: string, domains: Iterable<string>) {
  const bareOf = (domain: string) => domain.replace(/^www\./, "");
  const asked = new Set([...domains].flatMap((domain) => [domain, bareOf(domain)]));
  const values = [accountId, [...asked]];
  const { rows } = await pool.query<Record<"id" | "domain", string>>({ name: "own-sites", text: findOwnSql, values });
  const idsOf = new Map<string, string[]>();
  for (const { id, domain } of rows) idsOf.set(domain, [...(idsOf.get(domain) ?? []), id]);
  return (domain: string) => {
    const names = new Set([domain, bareOf(domain)]);
    const ids = [...names].flatMap((name) => idsOf.get(name) ?? []);
    return ids.length === 0 ? undefined : ids.join();
  };
}

interface RecordedRequests {
  machines: number;
  /** Counted before: of the same time, client, address and status. */
  duplicates: number;
  people: number;
  /** Of hosts without a site of the account. */
  unknown: number;
}

export type RequestRecorder = ReturnType<typeof createRequestRecorder>;

/**
 * Makes the function that counts a batch's requests of machines, each once however often the batch comes, and leaves people to
 * the tracker.
 * @param network looks up the names of machines' addresses, and fetches the keys of those that sign; without the one or the other
 *   claims by names stay unknown, and signatures count as none
 * @returns undefined where no request is of a site of the account
 * @throws WriterFullError, AppError 400, or the database's error; the same batch may then come again
 */
export function createRequestRecorder(pool: pg.Pool, network: { resolver?: NameResolver; fetch?: Fetch } = {}) {
  const settle = createClaimSettler(network.resolver);
  const verify = network.fetch && createSignatureCheck(network.fetch);
  const write = createMachineWriter(pool);
  let finder: ({ list: MachineList } & ReturnType<typeof createMachineFinder>) | undefined;
  const finderOf = ({ list }: Machines) => {
    if (finder?.list !== list) finder = { list, ...createMachineFinder(list) };
    return finder;
  };
  /** @param admit gets the number of machines' requests of each site; an error of it refuses the batch */
  return async (
    accountId: string,
    { domain, requests }: { domain: string | undefined; requests: readonly ServedRequest[] },
    admit: (siteId: string, count: number) => void,
  ): Promise<RecordedRequests | undefined> => {
    const domainOf = ({ url }: ServedRequest) => domain ?? url.hostname;
    const sitesOf = await findOwnSites(pool, accountId, new Set(requests.map(domainOf)));
    const { find, read } = finderOf(await machinesOf(pool));
    const { found, people, unknown } = await inSteps(find(requests, (request) => sitesOf(domainOf(request))));
    if (unknown === requests.length) return undefined;
    for (const [ids, candidates] of found) for (const siteId of ids.split(",")) admit(siteId, candidates.length);
    const signed = [...found.values()].flat().flatMap(({ signer }) => signer?.signed ?? []);
    const right = (await verify?.(signed, maxWaitMs.keys)) ?? new Set();
    const groups: { siteIds: string[]; lines: MachineLines }[] = [];
    let unsigned = 0;
    for (const [ids, candidates] of found) {
      const group = await inSteps(read(candidates, right));
      groups.push({ siteIds: ids.split(","), lines: group.lines });
      unsigned += group.people;
    }
    const openClaims = groups.flatMap(({ lines }) => lines.openClaims);
    const claimOf = await settle(accountId, openClaims, maxWaitMs.names);
    const parts: { siteId: string; machines: EncodedMachines }[] = [];
    for (const { siteIds, lines } of groups) {
      const machines = await lines.finish(claimOf);
      for (const siteId of siteIds) parts.push({ siteId, machines });
    }
    const written = await Promise.allSettled(parts.map(({ siteId, machines }) => write(siteId, machines)));
    let counted = 0;
    for (const part of written) {
      if (part.status === "rejected") throw part.reason;
      if ("horizon" in part.value) throw tooEarly(requests, part.value.horizon);
      counted += part.value.counted;
    }
    const all = parts.reduce((sum, { machines }) => sum + machines.ids.length, 0);
    return { machines: counted, duplicates: all - counted, people: people + unsigned, unknown };
  };
}

function tooEarly(requests: readonly ServedRequest[], horizon: string) {
  const problem = `Must not lie before ${horizon}: nobody knows any more which requests are counted already`;
  const early = requests.flatMap(({ at }, place) => (at < horizon ? [[`requests.${place}.at`, problem]] : []));
  return validationError(Object.fromEntries(early));
}
