import "./billing.css";
import { type Plan, type PlanId, planIds, planOf } from "@waymark/plan";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Billing, InvoiceList, PaymentPage, Usage } from "../../src/billing/billing.route.js";
import type { Invoice } from "../../src/billing/payments.js";
import type { Me } from "../../src/session/me.route.js";
import { api } from "../data/api.js";
import { invalidate, useAction, useMe, useQuery } from "../data/query.js";
import { CreateKeyButton, KeyPanel } from "../keys/keys-page.js";
import { MomentDay } from "../ui/ago.js";
import { Button, RunButton } from "../ui/button.js";
import { CopyField } from "../ui/copy-button.js";
import { ConfirmButton, Dialog, DialogButton } from "../ui/dialog.js";
import { formatBytes, formatCount, formatDay } from "../ui/format.js";
import { ActionError, Banner, ErrorNote, Loaded, Meter, Page, Panel, Skeleton } from "../ui/page.js";
import { type Column, Table } from "../ui/table.js";
import { formatMoney } from "./format-money.js";
import { KeepPanel } from "./keep-panel.js";
import { lossesOnFree } from "./losses-on-free.js";

const paymentPollMs = 1_500;

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
          <KeepPanel usage={usage.data} isOwner={me.data.role === "owner"} />
          <Panel title="Plans" isFlush>
            <PlanTable current={billing.data.plan} />
          </Panel>
          <Panel title={plan === "free" ? "Upgrade" : "Your plan"}>
            <div class="change-plan">
              <ChangePlan billing={billing.data} usage={usage.data} me={me.data} />
              {plan === "pro" && <Losses billing={billing.data} usage={usage.data} />}
            </div>
          </Panel>
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
  return (
    <>
      <Panel title="Analytics API" actions={<CreateKeyButton service="analytics" />}>
        <p class="soft">
          {isPro
            ? "Programs read the statistics of this account's sites with a key of the Analytics API."
            : "The Analytics API is part of Pro; on Free it refuses every key."}
        </p>
      </Panel>
      <KeyPanel service="analytics" />
    </>
  );
}

function UsagePanel({ usage }: { usage: Usage }) {
  const { traces, dropped, bytes, agents, retention_days } = usage;
  return (
    <Panel title="This month">
      <dl class="meters">
        <Use name="Traces" of={traces} hint={`Starts anew on ${formatDay(traces.resets_at)}, 00:00 UTC`} />
        <Use
          name="Stored"
          of={bytes}
          format={formatBytes}
          hint="Traces, spans and scores; deleting them gives nothing back"
        />
        <Use name="Agents" of={agents} hint="Agents stay from month to month" />
        {dropped.traces > 0 && (
          <Fact name="Dropped" hint="Traces without an agent; they do not count" value={formatCount(dropped.traces)} />
        )}
        <Fact name="Retention" hint="Older traces are deleted" value={`${retention_days} days`} />
      </dl>
    </Panel>
  );
}

interface FactProps {
  name: string;
  hint: string;
  value: string;
  meter?: ComponentChildren;
}

function Fact({ name, hint, value, meter }: FactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="meter-value">{value}</dd>
      {meter && <dd>{meter}</dd>}
      <dd class="hint">{hint}</dd>
    </div>
  );
}

interface UseProps extends Pick<FactProps, "name" | "hint"> {
  of: { current: number; limit: number | null };
  format?: (value: number) => string;
}

function Use({ of: { current, limit }, format = formatCount, ...fact }: UseProps) {
  const value = `${format(current)} of ${limit === null ? "any number" : format(limit)}`;
  return <Fact {...fact} value={value} meter={limit !== null && <Meter current={current} limit={limit} />} />;
}

const states: Readonly<Record<string, string>> = {
  open: "Open",
  paid: "Paid",
  uncollectible: "Not collected",
  void: "Void",
};

const invoiceColumns: readonly Column<Invoice>[] = [
  {
    text: "Invoice",
    cell: ({ number, createdAt, url }) => (
      <>
        {url === null ? (
          <MomentDay iso={createdAt} />
        ) : (
          <a href={url} target="_blank" rel="noreferrer">
            <MomentDay iso={createdAt} />
          </a>
        )}{" "}
        <span class="hint">{number}</span>
      </>
    ),
  },
  { text: "Amount", isNumber: true, cell: ({ amount, currency }) => formatMoney(amount, currency) },
  { text: "State", cell: ({ state }) => states[state] ?? state },
];

function InvoicesPanel() {
  const list = useQuery<InvoiceList>("/billing/invoices", { staleMs: 30_000 });
  const { data } = list;
  if (data?.invoices.length === 0) return null;
  return (
    <Panel title="Invoices" isFlush={data !== undefined}>
      <Loaded of={list} rows={2}>
        {({ invoices }) => <Table name="Invoices" columns={invoiceColumns} rows={invoices} />}
      </Loaded>
    </Panel>
  );
}

function Losses({ billing, usage }: { billing: Billing; usage: Usage }) {
  return (
    <div>
      <p>Back on Free, this account would lose:</p>
      <ul class="losses">
        {lossesOnFree(billing, usage).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  );
}

const rows: readonly { name: string; text(plan: Plan): string }[] = [
  { name: "Price", text: (plan) => `${plan.priceUsdPerMonth} USD per month` },
  { name: "Traces per month", text: (plan) => formatCount(plan.tracesPerMonth) },
  { name: "Stored per month", text: (plan) => formatBytes(plan.bytesPerMonth) },
  { name: "Agents", text: (plan) => (plan.agents === null ? "Unlimited" : formatCount(plan.agents)) },
  { name: "Traces are kept for", text: (plan) => `${plan.retentionDays} days` },
  { name: "Mails about failed traces", text: (plan) => (plan.alerts ? "Included" : "Not included") },
  { name: "Analytics API", text: (plan) => (plan.statisticsApi ? "Included" : "Not included") },
];

function PlanTable({ current }: { current: PlanId }) {
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { text: "What", sign: "", cell: ({ name }) => name },
    ...planIds.map((id) => ({
      text: id === current ? `${planOf(id).name} (yours)` : planOf(id).name,
      cell: ({ text }: (typeof rows)[number]) => text(planOf(id)),
    })),
  ];
  return <Table name="Plans" columns={columns} rows={rows} keyOf={({ name }) => name} />;
}

function ChangePlan({ billing, usage, me }: { billing: Billing; usage: Usage; me: Me }) {
  if (billing.paidBy === "stripe" && me.role === "owner") return <Payment billing={billing} />;
  if (billing.paidBy === "operator" && me.isOperator) return <Switch billing={billing} usage={usage} />;
  if (me.role !== "owner") return <p>An owner of the account may change the plan. The team page names the owners.</p>;
  return <AskOperator plan={billing.plan} email={me.account.email} />;
}

function Payment({ billing }: { billing: Billing }) {
  const pay = useAction(async (page: "checkout" | "portal") => {
    const { url } = await api.post<PaymentPage>(`/billing/${page}`, {});
    location.assign(url);
  });
  return (
    <div>
      <ActionError of={pay} />
      <p class="row plan-actions">
        {billing.plan === "free" && <RunButton look="main" text="Upgrade to Pro" of={pay} with="checkout" />}
        {billing.hasPortal && <RunButton text="Invoices, payment and cancellation" of={pay} with="portal" />}
      </p>
      <p class="hint">{hintOf(billing)}</p>
    </div>
  );
}

function hintOf({ plan, hasSubscription }: Billing): string {
  if (plan === "free") return "Stripe takes the payment. The plan changes as soon as it is through.";
  return hasSubscription
    ? "Paid through Stripe. A cancelled subscription runs to the end of its month."
    : "The operator of this installation set the plan; Stripe takes no payment.";
}

function Switch({ billing, usage }: { billing: Billing; usage: Usage }) {
  const invalidates = ["/billing", "/usage", "/me", "/audit"];
  const setPlan = (plan: PlanId) => api.put("/plan", { plan });
  const upgrade = useAction(setPlan, { invalidates, says: "The account is on Pro now" });
  return (
    <div>
      <ActionError of={upgrade} />
      <p class="row plan-actions">
        {billing.plan === "free" ? (
          <RunButton look="main" text="Upgrade to Pro" of={upgrade} with="pro" />
        ) : (
          <ConfirmButton
            title="Switch to Free?"
            verb="Switch to Free"
            work={() => setPlan("free")}
            invalidates={invalidates}
            says="The account is on Free now"
          >
            <Losses billing={billing} usage={usage} />
          </ConfirmButton>
        )}
      </p>
      <p class="hint">You run this installation, so the plan changes at once and without a payment.</p>
    </div>
  );
}

function AskOperator({ plan, email }: { plan: PlanId; email: string }) {
  return (
    <div>
      <p>
        Plans are set by who runs this: <code>waymark account plan</code>
      </p>
      {plan === "free" && (
        <p class="row plan-actions">
          <DialogButton
            text="Upgrade to Pro"
            look="main"
            dialog={(close) => (
              <Dialog title="Upgrade to Pro" onClose={close} actions={<Button text="Done" onClick={close} />}>
                <p>Ask the operator of this installation to run this command. The plan changes within a second.</p>
                <CopyField label="Command" value={`waymark account plan ${email} --plan pro`} lines={2} />
              </Dialog>
            )}
          />
        </p>
      )}
    </div>
  );
}
