import type { PlanId } from "@waymark/plan";
import { useState } from "preact/hooks";
import type { Billing, PaymentPage, Usage } from "../../src/billing/billing.route.js";
import type { Me } from "../../src/session/me.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { CopyField } from "../ui/copy-button.js";
import { Confirm, Dialog } from "../ui/dialog.js";
import { Banner } from "../ui/states.js";
import { Losses } from "./losses.js";

interface ChangePlanProps {
  billing: Billing;
  usage: Usage;
  me: Me;
}

/** The way to the other plan: Stripe's pages, the operator's switch, or the operator's command. */
export function ChangePlan({ billing, usage, me }: ChangePlanProps) {
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
      {pay.error && <Banner tone="error">{pay.error.message}</Banner>}
      <p class="plan-actions">
        {billing.plan === "free" && (
          <Button look="main" isBusy={pay.isBusy} onClick={() => void pay.run("checkout")}>
            Upgrade to Pro
          </Button>
        )}
        {billing.hasPortal && (
          <Button isBusy={pay.isBusy} onClick={() => void pay.run("portal")}>
            Invoices, payment and cancellation
          </Button>
        )}
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

/** Sets the plan at once, for people of `OPERATORS`. */
function Switch({ billing, usage }: { billing: Billing; usage: Usage }) {
  const [isAsking, setAsking] = useState(false);
  const change = useAction((plan: PlanId) => api.put("/plan", { plan }).then(() => true), {
    invalidates: ["/billing", "/usage", "/me", "/audit"],
  });
  const run = async (plan: PlanId) => {
    if (!(await change.run(plan))) return;
    setAsking(false);
    announce(plan === "pro" ? "The account is on Pro now" : "The account is on Free now");
  };
  return (
    <div>
      {change.error && !isAsking && <Banner tone="error">{change.error.message}</Banner>}
      <p class="plan-actions">
        {billing.plan === "free" ? (
          <Button look="main" isBusy={change.isBusy} onClick={() => void run("pro")}>
            Upgrade to Pro
          </Button>
        ) : (
          <Button onClick={() => setAsking(true)}>Switch to Free</Button>
        )}
      </p>
      <p class="hint">You run this installation, so the plan changes at once and without a payment.</p>
      {isAsking && (
        <Confirm
          title="Switch to Free?"
          verb="Switch to Free"
          isBusy={change.isBusy}
          error={change.error?.message}
          onConfirm={() => void run("free")}
          onClose={() => setAsking(false)}
        >
          <Losses billing={billing} usage={usage} />
        </Confirm>
      )}
    </div>
  );
}

function AskOperator({ plan, email }: { plan: PlanId; email: string }) {
  const [isOpen, setOpen] = useState(false);
  const other = plan === "free" ? "pro" : "free";
  return (
    <div>
      <p>
        Plans are set by who runs this: <code>waymark account plan</code>
      </p>
      {plan === "free" && (
        <p class="plan-actions">
          <Button look="main" onClick={() => setOpen(true)}>
            Upgrade to Pro
          </Button>
        </p>
      )}
      {isOpen && (
        <Dialog
          title="Upgrade to Pro"
          onClose={() => setOpen(false)}
          actions={<Button onClick={() => setOpen(false)}>Done</Button>}
        >
          <p>Ask the operator of this installation to run this command. The plan changes within a second.</p>
          <CopyField label="Command" value={`waymark account plan ${email} --plan ${other}`} lines={2} />
        </Dialog>
      )}
    </div>
  );
}
