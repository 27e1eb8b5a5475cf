import { createAccount, createSite, issueKey } from "@waymark/accounts";
import { createChannel } from "@waymark/alerts";
import { createLedger, type Ledger } from "./ledger.js";
import type { Stage } from "./stage.js";

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
