import { createAccount, createSite, issueKey } from "@waymark/accounts";
import { createChannel } from "@waymark/alerts";
import type { Stage } from "./stage.js";

/** A trace that a client wrote, by its unique name. */
interface TraceEntry {
  /** Undefined while no answer acknowledged it. */
  isAcknowledged: boolean;
  /** Names of acknowledged spans. */
  spans: string[];
  /** The last acknowledged status; undefined while a change is not acknowledged. */
  status: string | undefined;
  /** Whether a change to `error` was sent. */
  hasFailed: boolean;
}

interface EventEntry {
  sent: number;
  acknowledged: number;
}

/** Every write of a tenant with its acknowledgement. */
interface Ledger {
  readonly traces: Map<string, TraceEntry>;
  /** Events by their path. */
  readonly events: Map<string, EventEntry>;
  /** A new entry for a trace that is about to be sent. */
  openTrace(): { name: string; entry: TraceEntry };
  /** Counts an event that is about to be sent. */
  openEvent(): { path: string; entry: EventEntry };
}

/** @param pages paths that events take in turns; by default each event has a path of its own */
function createLedger(pages = Number.POSITIVE_INFINITY): Ledger {
  const traces = new Map<string, TraceEntry>();
  const events = new Map<string, EventEntry>();
  let sent = 0;
  return {
    traces,
    events,
    openTrace: () => {
      const name = `trace ${traces.size + 1}`;
      const entry: TraceEntry = { isAcknowledged: false, spans: [], status: undefined, hasFailed: false };
      traces.set(name, entry);
      return { name, entry };
    },
    openEvent: () => {
      const path = `/page-${(sent++ % pages) + 1}`;
      const entry = events.get(path) ?? { sent: 0, acknowledged: 0 };
      entry.sent++;
      events.set(path, entry);
      return { path, entry };
    },
  };
}

/** A Pro account with its keys, a site, a webhook, and the ledger of its writes. */
export interface Tenant {
  readonly accountId: string;
  readonly traceKey: string;
  readonly statisticsKey: string;
  readonly siteId: string;
  readonly domain: string;
  readonly channelId: string;
  readonly ledger: Ledger;
}

/**
 * @param name a part of a domain
 * @param pages paths of its site's page views; by default each view has its own
 */
export async function makeTenant({ system, prisma, receiver }: Stage, name: string, pages?: number): Promise<Tenant> {
  const { pool } = system;
  const { id: accountId } = await createAccount(prisma, { email: `${name}@example.com`, plan: "pro" });
  const { key: traceKey } = await issueKey(pool, { accountId, service: "trace", name });
  const { key: statisticsKey } = await issueKey(pool, { accountId, service: "analytics", name });
  const domain = `${name}.example.com`;
  const { site } = await createSite(pool, { accountId, domain, name });
  const { id: channelId } = await createChannel(pool, accountId, { kind: "webhook", to: receiver.webhookUrl });
  return { accountId, traceKey, statisticsKey, siteId: site.id, domain, channelId, ledger: createLedger(pages) };
}
