import type { Billing, Usage } from "../../src/billing/billing.route.js";
import type { Me } from "../../src/session/me.route.js";
import { Panel } from "../ui/panel.js";
import { ChangePlan } from "./change-plan.js";
import { Losses } from "./losses.js";
import { PlanTable } from "./plan-table.js";

interface PlanPanelProps {
  billing: Billing;
  usage: Usage;
  me: Me;
}

/** Both plans side by side, and how this account changes. */
export function PlanPanel({ billing, usage, me }: PlanPanelProps) {
  return (
    <>
      <Panel title="Plans" isFlush>
        <PlanTable current={billing.plan} />
      </Panel>
      <Panel title={billing.plan === "free" ? "Upgrade" : "Your plan"}>
        <div class="change-plan">
          <ChangePlan billing={billing} usage={usage} me={me} />
          {billing.plan === "pro" && <Losses billing={billing} usage={usage} />}
        </div>
      </Panel>
    </>
  );
}
