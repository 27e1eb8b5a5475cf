import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { UnsentAlerts } from "../../src/alerts/alerts.route.js";
import { isAway } from "../data/api.js";
import { useMe } from "../data/me.js";
import { hasAnswer, useQuery } from "../data/query.js";
import { Banner } from "../ui/states.js";
import { useNarrow } from "../ui/use-narrow.js";
import { AccountMenu } from "./account-menu.js";
import { Brand } from "./brand.js";
import { useStatisticsSite } from "./last-site.js";
import { Navigation } from "./navigation.js";
import { UsageMeter } from "./usage-meter.js";

/** How long the frame's own requests let the page's go first. A page without requests sends none before. */
const headStartMs = 400;

/** The frame of every page behind a session. */
export function Shell({ path, children }: { path: string; children: ComponentChildren }) {
  const isQuiet = useHeadStart() || hasAnswer.value;
  const me = useMe(isQuiet);
  const siteId = useStatisticsSite(isQuiet);
  const isNarrow = useNarrow(1_000);
  const unsent = useQuery<UnsentAlerts>(isQuiet ? "/alerts/unsent" : undefined, { staleMs: 30_000, pollMs: 60_000 });
  return (
    <div class="shell">
      <a class="skip-link" href="#content">
        Skip to content
      </a>
      <header class="side">
        <Brand />
        <Navigation path={path} siteId={siteId} isNarrow={isNarrow} unsentMails={unsent.data?.count ?? 0} />
        {!isNarrow && !path.startsWith("/dashboard/billing") && <UsageMeter isWanted={isQuiet} />}
        <AccountMenu me={me.data} />
      </header>
      <main id="content" tabIndex={-1}>
        {isAway.value && (
          <div class="away">
            <Banner tone="warning">Waymark or its database does not answer now. The page tries again by itself.</Banner>
          </div>
        )}
        {children}
      </main>
    </div>
  );
}

function useHeadStart(): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), headStartMs);
    return () => clearTimeout(timer);
  }, []);
  return isOver;
}
