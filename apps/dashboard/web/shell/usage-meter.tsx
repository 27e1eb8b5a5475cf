import type { Usage } from "../../src/billing/billing.route.js";
import { useMe } from "../data/me.js";
import { useQuery } from "../data/query.js";
import { formatCount, formatMonth } from "../ui/format.js";

/** The month's traces at the menu's foot. */
export function UsageMeter({ isWanted }: { isWanted: boolean }) {
  const me = useMe(isWanted);
  const usage = useQuery<Usage>(isWanted ? "/usage" : undefined, { staleMs: 30_000, pollMs: 60_000 });
  if (!usage.data || !me.data) return null;
  const { current, limit, resets_at } = usage.data.traces;
  const share = Math.min(1, current / limit);
  return (
    <div class="usage-meter">
      {formatMonth(Date.parse(resets_at) - 1)}
      <div class="usage-bar" aria-hidden="true">
        <div class={share >= 0.8 ? "is-high" : undefined} style={{ width: `${share * 100}%` }} />
      </div>
      {formatCount(current)} traces of {formatCount(limit)} · {me.data.account.plan === "pro" ? "Pro" : "Free"}
    </div>
  );
}
