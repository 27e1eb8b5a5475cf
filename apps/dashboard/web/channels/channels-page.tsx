import "./channels.css";
import type { ChannelList } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useMayChange, useMe, useQuery } from "../data/query.js";
import { DialogButton } from "../ui/dialog.js";
import { Form, Radios, TextField, useForm } from "../ui/form.js";
import { Banner, Loaded, Page, Panel } from "../ui/page.js";
import { ChannelDialog } from "./channel-dialog.js";
import { ChannelsTable } from "./channels-table.js";
import { RulesPanel } from "./rules.js";

const pollMs = 5_000;

export function ChannelsPage() {
  const list = useQuery<ChannelList>("/channels", { pollMs });
  const me = useMe();
  const isOwner = me.data?.role === "owner";
  const mayChange = isOwner && list.data?.hasAlerts === true;
  const hasReports = useMayChange() && list.data?.hasAlerts === true;
  const kinds = list.data?.kinds;
  const add = mayChange && kinds && (
    <DialogButton
      text="Add channel"
      look="main"
      icon="plus"
      dialog={(close) => <ChannelDialog kinds={kinds} onClose={close} />}
    />
  );
  return (
    <Page title="Channels" note="Where Waymark tells of failed traces" actions={add}>
      {list.data?.hasAlerts === false && (
        <Banner>
          Channels need the Pro plan. <a href="/dashboard/billing">Upgrade to Pro</a>
        </Banner>
      )}
      {me.data && !isOwner && <Banner>An owner of the account changes channels and rules.</Banner>}
      <Loaded of={list}>
        {(loaded) => (
          <>
            <ChannelsTable of={loaded} mayChange={mayChange} />
            <Panel title="Delivery">
              <DeliveryForm key={`${loaded.mode} ${loaded.windowSeconds}`} of={loaded} mayChange={mayChange} />
            </Panel>
            <RulesPanel title="Rules" mayChange={mayChange} />
            {hasReports && <ReportPanel key={loaded.report} report={loaded.report} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const modes = [
  { value: "each", label: "Each failure by itself" },
  {
    value: "digest",
    label: "Digests",
    hint: "An agent's first failure at once, then one message with all of a window.",
  },
] as const;

function DeliveryForm({ of: { mode, windowSeconds }, mayChange }: { of: ChannelList; mayChange: boolean }) {
  const stored = { mode, minutes: String(windowSeconds / 60) };
  const form = useForm(
    stored,
    ({ minutes, ...rest }) => api.put("/alert-settings", { ...rest, windowSeconds: Math.round(Number(minutes) * 60) }),
    { invalidates: ["/channels"], says: "Saved", refusalAt: "mode" },
  );
  if (!mayChange) {
    return <p>{mode === "each" ? "Each failure goes out by itself." : `Digests of ${stored.minutes} minutes.`}</p>;
  }
  const { fields = {} } = form.error ?? {};
  return (
    <Form class="narrow-form" verb="Save" form={form}>
      <Radios label="Mails and chats" choices={modes} {...form.field("mode")} />
      {form.values.mode === "digest" && (
        <TextField
          label="Window in minutes"
          type="number"
          min="1"
          max="1440"
          required
          hint="Webhooks always get each failure."
          {...form.field("minutes")}
          error={fields["window"] ?? fields["windowSeconds"]}
        />
      )}
    </Form>
  );
}

const reports = [
  { value: "never", label: "Never" },
  { value: "week", label: "Weekly", hint: "On Mondays, about the UTC days from Monday to Sunday." },
  { value: "month", label: "Monthly", hint: "On the first, about the month before." },
] as const;

/** Of the viewer's own address, also a member's. */
function ReportPanel({ report }: Pick<ChannelList, "report">) {
  const form = useForm(
    { every: report ?? ("never" as const) },
    ({ every }) => api.put("/report", { every: every === "never" ? null : every }),
    { invalidates: ["/channels"], says: "Saved", refusalAt: "every" },
  );
  return (
    <Panel title="Reports to you">
      <Form class="narrow-form" verb="Save" form={form}>
        <Radios label="Sites and agents by mail" choices={reports} {...form.field("every")} />
      </Form>
    </Panel>
  );
}
