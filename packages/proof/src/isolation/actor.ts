import { issueKey, revokeKey, shareSite } from "@waymark/accounts";
import type { ServiceName, System } from "../system/start-system.js";
import { createTenant, proofOf, type Tenant } from "../system/tenant.js";

export const rights = ["owner", "member", "share", "revoked", "expired", "other service"] as const;
export type Right = (typeof rights)[number];

/** A tenant with keys that no longer work, and one for its site alone. */
export interface Actor extends Tenant {
  readonly shareKey: string;
  readonly expiredKey: string;
  readonly revokedKeys: Readonly<Record<"trace" | "analytics", string>>;
  /** Ids of others that it sent itself: they may come back. */
  readonly sentIds: Set<string>;
}

/** @param name letters alone; the mark is made of it */
export async function createActor(system: System, name: string): Promise<Actor> {
  const { pool, receiver } = system;
  const mark = `qq${name}zz`;
  const tenant = await createTenant(system, mark);
  const { accountId, siteId, known } = tenant;
  const revoked = async (service: "trace" | "analytics") => {
    const { id, key } = await issueKey(pool, { accountId, service, name: mark });
    await revokeKey(pool, { keyId: id, accountId });
    return key;
  };
  const day = 86_400_000;
  const share = (expiresAt: Date) => shareSite(pool, { siteId, name: mark, expiresAt });
  known.set("mark", [mark, `${mark}-1`, `${mark}-2`]);
  known.set("agent", [mark]);
  known.set("hook", [`${receiver.url}/hook/${mark}`]);
  known.set("domain", [tenant.domain]);
  return {
    ...tenant,
    shareKey: (await share(new Date(Date.now() + day))).key,
    expiredKey: (await share(new Date(Date.now() - day))).key,
    revokedKeys: { trace: await revoked("trace"), analytics: await revoked("analytics") },
    sentIds: new Set(),
  };
}

/** The headers of a right, as far as the service knows it. */
export function proofWith(actor: Actor, right: Right, service: ServiceName, origin: string): Record<string, string> {
  const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
  if (service === "dashboard") {
    if (right === "owner") return proofOf(actor, service, origin);
    if (right === "member") return { Cookie: actor.memberCookie, Origin: origin };
    return { ...bearer(actor.traceKey), Origin: origin };
  }
  const isTraces = service !== "analytics-api";
  switch (right) {
    case "share":
      return bearer(actor.shareKey);
    case "revoked":
      return bearer(actor.revokedKeys[isTraces ? "trace" : "analytics"]);
    case "expired":
      return bearer(actor.expiredKey);
    case "other service":
      return bearer(isTraces ? actor.statisticsKey : actor.traceKey);
    default:
      return proofOf(actor, service, origin);
  }
}

export function mustBeRefused(right: Right, service: ServiceName): boolean {
  if (right === "owner" || right === "member") return false;
  return service !== "analytics-api" || right !== "share";
}
