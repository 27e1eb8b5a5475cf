import { createChannel } from "@waymark/alerts";
import type { System } from "../system/start-system.js";
import { createTenant, type Tenant as PlainTenant } from "../system/tenant.js";

/** A trace that a client wrote, by its unique name. */
interface TraceEntry {
  /** Undefined while no answer acknowledged it. */
  isAcknowledged: boolean;
  spans: string[];
  /** The last acknowledged status; undefined while a change is not acknowledged. */
  status: string | undefined;
  hasFailed: boolean;
}

/** @param pages paths that events take in turns; by default each event has a path of its own */
function createLedger(pages = Number.POSITIVE_INFINITY) {
  const traces = new Map<string, TraceEntry>();
  const events = new Map<string, { sent: number; acknowledged: number }>();
  let sent = 0;
  return {
    traces,
    events,
    /** A new entry for a trace that is about to be sent. */
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

/** A Pro account with a webhook, and every write of it with its acknowledgement. */
export interface Tenant extends PlainTenant {
  readonly channelId: string;
  readonly ledger: ReturnType<typeof createLedger>;
}

/** @param pages paths of its site's page views; by default each view has its own */
export async function makeTenant(
  system: Pick<System, "pool" | "url" | "receiver">,
  name: string,
  pages?: number,
): Promise<Tenant> {
  const tenant = await createTenant(system, name);
  const webhook = { kind: "webhook", to: `${system.receiver.url}/hook` } as const;
  const { id: channelId } = await createChannel(system.pool, tenant.accountId, webhook);
  return { ...tenant, channelId, ledger: createLedger(pages) };
}
