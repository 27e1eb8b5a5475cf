/** What a plan allows. `null` means without limit. */
export interface Plan {
  readonly name: string;
  readonly priceUsdPerMonth: number;
  readonly tracesPerMonth: number;
  readonly agents: number | null;
  readonly retentionDays: number;
  readonly failureMails: boolean;
  readonly statisticsApi: boolean;
}

/** The plans, as the contracts give them (trace contract, "Limits"; statistics contract, "What the service does"). */
export const plans = {
  free: {
    name: "Free",
    priceUsdPerMonth: 0,
    tracesPerMonth: 1_000,
    agents: 1,
    retentionDays: 30,
    failureMails: false,
    statisticsApi: false,
  },
  pro: {
    name: "Pro",
    priceUsdPerMonth: 9,
    tracesPerMonth: 50_000,
    agents: null,
    retentionDays: 90,
    failureMails: true,
    statisticsApi: true,
  },
} as const satisfies Record<string, Plan>;

/** `free` or `pro`. */
export type PlanId = keyof typeof plans;

/** The plan ids, for choices in a schema or on the command line. */
export const planIds = Object.keys(plans) as [PlanId, ...PlanId[]];

/** What the plan allows. */
export function planOf(id: PlanId): Plan {
  return plans[id];
}

/** Whether a text names a plan. */
export function isPlanId(text: string): text is PlanId {
  return Object.hasOwn(plans, text);
}

/** Requests per minute for one key of the statistics service (statistics contract, "Limits"). */
export const statisticsRequestsPerMinute = 60;

/** Where a plan is changed: a path, as both contracts give it. */
export const upgradePath = "/dashboard/billing";
