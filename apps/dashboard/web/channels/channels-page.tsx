import "./channels.css";
import { useState } from "preact/hooks";
import type { ChannelList } from "../../src/channels/channels.route.js";
import { useMe } from "../data/me.js";
import { useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { Page } from "../ui/page.js";
import { Panel } from "../ui/panel.js";
import { Banner, ErrorNote, Skeleton } from "../ui/states.js";
import { ChannelDialog } from "./channel-dialog.js";
import { ChannelsTable } from "./channels-table.js";
import { DeliveryForm } from "./delivery-form.js";
import { RulesPanel } from "./rules-panel.js";

const pollMs = 5_000;

/** Where failures are told, and how; owners change it. */
export function ChannelsPage() {
  const list = useQuery<ChannelList>("/channels", { pollMs });
  const me = useMe();
  const [isAdding, setAdding] = useState(false);
  const isOwner = me.data?.role === "owner";
  const mayChange = isOwner && list.data?.hasAlerts === true;
  const add = (
    <Button look="main" icon="plus" onClick={() => setAdding(true)}>
      Add channel
    </Button>
  );
  return (
    <Page title="Channels" note="Where Waymark tells of failed traces" actions={mayChange && add}>
      {list.error && !list.data && <ErrorNote error={list.error} onRetry={list.refetch} />}
      {list.isLoading && <Skeleton />}
      {list.data?.hasAlerts === false && (
        <Banner>
          Channels need the Pro plan. <a href="/dashboard/billing">Upgrade to Pro</a>
        </Banner>
      )}
      {me.data && !isOwner && <Banner>An owner of the account changes channels and rules.</Banner>}
      {list.data && (
        <>
          <ChannelsTable of={list.data} mayChange={mayChange} />
          <Panel title="Delivery">
            <DeliveryForm key={`${list.data.mode} ${list.data.windowSeconds}`} of={list.data} mayChange={mayChange} />
          </Panel>
          <RulesPanel mayChange={mayChange} />
        </>
      )}
      {list.data && isAdding && <ChannelDialog kinds={list.data.kinds} onClose={() => setAdding(false)} />}
    </Page>
  );
}
