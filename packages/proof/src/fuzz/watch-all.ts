import { watched } from "@waymark/testing/watched";
import type { System } from "../system/start-system.js";
import type { ServiceName } from "./operations.js";
import { proofOf, type Tenant } from "./tenant.js";

/**
 * Does work while a tenant's small requests to each service are watched.
 * @returns what is wrong if one of them failed, or waited longer than `watched` allows
 */
export async function watchAll(system: System, tenant: Tenant, work: () => Promise<unknown>): Promise<string[]> {
  const { apps, url } = system;
  const requestTo = (service: ServiceName, path: string, headers: Record<string, string> = {}) => {
    const { pid } = apps[service].identity;
    return { url: url(service) + path, headers, pid };
  };
  const proofFor = (service: ServiceName) => proofOf(tenant, service, url(service));
  const small = [
    requestTo("trace-api", "/api/v1/traces?limit=1", proofFor("trace-api")),
    requestTo("dashboard", "/dashboard/api/me", proofFor("dashboard")),
    // A key of the statistics service has 60 requests a minute.
    requestTo("analytics-api", "/health"),
  ];
  const done = work();
  const seen = await Promise.allSettled(small.map((request) => watched(request, () => done)));
  await done;
  return seen.flatMap((each, index) => (each.status === "rejected" ? [`${small[index]?.url}: ${each.reason}`] : []));
}
