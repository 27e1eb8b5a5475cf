import "./billing.css";
import { planOf } from "@waymark/plan";
import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Billing, Usage } from "../../src/billing/billing.route.js";
import { useMe } from "../data/me.js";
import { invalidate, useQuery } from "../data/query.js";
import { KeyPanel, useKeyDialog } from "../keys/key-list.js";
import { Page } from "../ui/page.js";
import { Panel } from "../ui/panel.js";
import { Banner, ErrorNote, Skeleton } from "../ui/states.js";
import { InvoicesPanel } from "./invoices-panel.js";
import { PlanPanel } from "./plan-panel.js";
import { UsagePanel } from "./usage-panel.js";

const paymentPollMs = 1_500;

/** The plan, its use, how it changes, and the keys of the statistics API. */
export function BillingPage() {
  const hasPaid = "paid" in useLocation().query;
  const usage = useQuery<Usage>("/usage");
  const me = useMe();
  const billing = usePaidBilling(hasPaid);
  const error = usage.error ?? billing.error ?? me.error;
  const plan = billing.data?.plan;
  const isReady = usage.data && billing.data && me.data;
  return (
    <Page title="Plan and usage" aside={plan && <span class="plan-name">{planOf(plan).name}</span>}>
      {error && !isReady && <ErrorNote error={error} onRetry={usage.refetch} />}
      {hasPaid && plan === "free" && (
        <Banner>Waiting for Stripe to confirm the payment. This takes a few seconds.</Banner>
      )}
      {hasPaid && plan === "pro" && <Banner>Thank you. This account is on Pro now.</Banner>}
      {!error && !isReady && <Skeleton />}
      {usage.data && billing.data && me.data && (
        <>
          <UsagePanel usage={usage.data} />
          <PlanPanel billing={billing.data} usage={usage.data} me={me.data} />
          {billing.data.hasPortal && me.data.role === "owner" && <InvoicesPanel />}
          <StatisticsKeys isPro={billing.data.plan === "pro"} />
        </>
      )}
    </Page>
  );
}

/** Asks again until the webhook of a payment has come. */
function usePaidBilling(hasPaid: boolean) {
  const first = useQuery<Billing>("/billing");
  const plan = first.data?.plan;
  const isWaiting = hasPaid && plan === "free";
  const { data, error } = useQuery<Billing>("/billing", { pollMs: isWaiting ? paymentPollMs : undefined });
  useEffect(() => {
    if (hasPaid && plan === "pro") invalidate("/usage", "/me", "/billing/invoices");
  }, [hasPaid, plan]);
  return { data, error };
}

function StatisticsKeys({ isPro }: { isPro: boolean }) {
  const { button, dialog } = useKeyDialog("analytics");
  return (
    <>
      <Panel title="Analytics API" actions={button}>
        <p class="soft">
          {isPro
            ? "Programs read the statistics of this account's sites with a key of the Analytics API."
            : "The Analytics API is part of Pro; on Free it refuses every key."}
        </p>
      </Panel>
      <KeyPanel service="analytics" />
      {dialog}
    </>
  );
}
