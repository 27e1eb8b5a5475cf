/** A plan's price, limits and features; a limit of `null` is none. */
export interface Plan {
  readonly name: string;
  readonly priceUsdPerMonth: number;
  readonly tracesPerMonth: number;
  /** Bytes of traces, spans and scores stored in a UTC month; deletion gives nothing back. */
  readonly bytesPerMonth: number;
  readonly agents: number | null;
  readonly retentionDays: number;
  readonly alerts: boolean;
  readonly statisticsApi: boolean;
}

/** The plans, as the contracts give them (trace contract, "Limits"; statistics contract, "What the service does"). */
export const plans = {
  free: {
    name: "Free",
    priceUsdPerMonth: 0,
    tracesPerMonth: 1_000,
    bytesPerMonth: 256_000_000,
    agents: 1,
    retentionDays: 30,
    alerts: false,
    statisticsApi: false,
  },
  pro: {
    name: "Pro",
    priceUsdPerMonth: 9,
    tracesPerMonth: 50_000,
    bytesPerMonth: 25_000_000_000,
    agents: null,
    retentionDays: 90,
    alerts: true,
    statisticsApi: true,
  },
} as const satisfies Record<string, Plan>;

export type PlanId = keyof typeof plans;

export const planIds = Object.keys(plans) as [PlanId, ...PlanId[]];

export function planOf(id: PlanId): Plan {
  return plans[id];
}

export function isPlanId(text: string): text is PlanId {
  return Object.hasOwn(plans, text);
}

/** Traces the plan still allows in a month that has `used` of them; 0 after a downgrade beyond the limit. */
export function remainingTraces({ plan, used }: { plan: Plan; used: number }): number {
  return Math.max(0, plan.tracesPerMonth - used);
}

/** Bytes the plan still allows in a month that has stored `usedBytes`; 0 after a downgrade beyond the limit. */
export function remainingBytes({ plan, usedBytes }: { plan: Plan; usedBytes: number }): number {
  return Math.max(0, plan.bytesPerMonth - usedBytes);
}

/** Requests per minute for one key of the statistics service (statistics contract, "Limits"). */
export const statisticsRequestsPerMinute = 60;

export const upgradePath = "/dashboard/billing";

export interface UtcMonth {
  readonly label: string;
  /** The first day, `YYYY-MM-DD`, the key of the month's counter. */
  readonly firstDay: string;
  /** Whole seconds from the moment to the start of the next month, rounded up, at least 1. */
  readonly secondsLeft: number;
  readonly endsAt: string;
}

/** The month last asked for: most requests of a process have one. */
let last = monthAt(0);

export function utcMonth(moment: Date): UtcMonth {
  const at = moment.getTime();
  if (at < last.startsAtMs || at >= last.endsAtMs) last = monthAt(at);
  const { label, firstDay, endsAt, endsAtMs } = last;
  return { label, firstDay, secondsLeft: Math.ceil((endsAtMs - at) / 1000), endsAt };
}

function monthAt(at: number) {
  const moment = new Date(at);
  const [year, month] = [moment.getUTCFullYear(), moment.getUTCMonth()];
  const label = moment.toISOString().slice(0, 7);
  const endsAtMs = Date.UTC(year, month + 1, 1);
  const endsAt = new Date(endsAtMs).toISOString();
  return { label, firstDay: `${label}-01`, endsAt, startsAtMs: Date.UTC(year, month, 1), endsAtMs };
}
