import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { UnsentAlerts } from "../../src/alerts/alerts.route.js";
import type { Usage } from "../../src/billing/billing.route.js";
import type { Me } from "../../src/session/me.route.js";
import type { SwitchAccountBody } from "../../src/session/session.schema.js";
import type { SiteList } from "../../src/sites/sites.route.js";
import { api, isAway } from "../data/api.js";
import { hasAnswer, useMe, useQuery } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { formatCount, formatMonth } from "../ui/format.js";
import { Brand } from "../ui/icon.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { Banner, Meter } from "../ui/page.js";
import { readLastSite, readTheme, setTheme, type Theme } from "../ui/preferences.js";
import { useNarrow } from "../ui/use-size.js";
import { entriesOf, Navigation } from "./navigation.js";
import { usePalette } from "./use-palette.js";

/** How long the frame's own requests let the page's go first. A page without requests sends none before. */
const headStartMs = 400;

export function Shell({ path, children }: { path: string; children: ComponentChildren }) {
  const isQuiet = useHeadStart() || hasAnswer.value;
  const me = useMe(isQuiet);
  const siteId = useStatisticsSite(isQuiet);
  const isNarrow = useNarrow(1_000);
  const unsent = useQuery<UnsentAlerts>(isQuiet ? "/alerts/unsent" : undefined, { staleMs: 30_000, pollMs: 60_000 });
  const groups = entriesOf(siteId, unsent.data?.count ?? 0);
  const palette = usePalette(Object.values(groups).flat(), isNarrow);
  return (
    <div class="shell">
      <a class="skip-link" href="#content">
        Skip to content
      </a>
      <header class="side">
        <Brand />
        {palette.button}
        <Navigation path={path} groups={groups} isNarrow={isNarrow} />
        {!isNarrow && !path.startsWith("/dashboard/billing") && <UsageMeter isWanted={isQuiet} />}
        <AccountMenu me={me.data} isNarrow={isNarrow} />
      </header>
      <main id="content" tabIndex={-1}>
        {isAway.value && (
          <div class="away">
            <Banner tone="warning">Waymark or its database does not answer now. The page tries again by itself.</Banner>
          </div>
        )}
        {children}
      </main>
      {palette.dialog}
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

function UsageMeter({ isWanted }: { isWanted: boolean }) {
  const me = useMe(isWanted);
  const usage = useQuery<Usage>(isWanted ? "/usage" : undefined, { staleMs: 30_000, pollMs: 60_000 });
  if (!usage.data || !me.data) return null;
  const { current, limit, resets_at } = usage.data.traces;
  return (
    <div class="usage-meter">
      {formatMonth(Date.parse(resets_at) - 1)}
      <Meter current={current} limit={limit} />
      {formatCount(current)} traces of {formatCount(limit)} · {me.data.account.plan === "pro" ? "Pro" : "Free"}
    </div>
  );
}

const themes: readonly { value: Theme; label: string }[] = [
  { value: "system", label: "System theme" },
  { value: "light", label: "Light theme" },
  { value: "dark", label: "Dark theme" },
];

function AccountMenu({ me, isNarrow }: { me: Me | undefined; isNarrow: boolean }) {
  const [theme, choose] = useState(readTheme);
  return (
    <Menu label="Account menu" icon="person" look="quiet" isIconOnly={isNarrow}>
      {me && <div class="menu-label">{me.person.email}</div>}
      {me && me.accounts.length > 1 && (
        <>
          {me.accounts.map(({ id, name }) => (
            <MenuItem key={id} isChecked={id === me.account.id} onClick={() => void switchAccount({ accountId: id })}>
              {name}
            </MenuItem>
          ))}
          <hr />
        </>
      )}
      <MenuItem href="/dashboard/settings">Settings</MenuItem>
      <hr />
      {themes.map(({ value, label }) => (
        <MenuItem
          key={value}
          isChecked={theme === value}
          onClick={() => {
            setTheme(value);
            choose(value);
          }}
        >
          {label}
        </MenuItem>
      ))}
      <hr />
      <MenuItem onClick={() => void signOut()}>Sign out</MenuItem>
    </Menu>
  );
}

async function switchAccount(body: SwitchAccountBody): Promise<void> {
  const error = await api.post("/me/account", body).catch((refusal: Error) => refusal);
  if (error instanceof Error) announce(error.message);
  else location.assign("/dashboard/");
}

/** Loads the sign-in page anew: nothing of the session stays in memory. */
async function signOut(): Promise<void> {
  await api.post("/sign-out").catch(() => undefined);
  location.assign("/dashboard/sign-in");
}

/** The site of the menu's "Statistics": the one looked at last while it exists, else the first. */
function useStatisticsSite(isWanted: boolean): string | undefined {
  const { data } = useQuery<SiteList>(isWanted ? "/sites" : undefined, { staleMs: 60_000 });
  const last = readLastSite();
  if (!data) return last;
  return data.sites.some(({ id }) => id === last) ? last : data.sites[0]?.id;
}
