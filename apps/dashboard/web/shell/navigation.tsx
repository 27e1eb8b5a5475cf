import { useEffect, useId, useState } from "preact/hooks";
import { pages } from "../pages.js";
import { formatThings } from "../ui/format.js";
import { Icon, type IconName } from "../ui/icon.js";

export interface Entry {
  label: string;
  icon: IconName;
  /** A path of {@link pages}. */
  page: string;
  /** Where the link leads, unlike `page` where that has a parameter. */
  href?: string;
  count?: number;
  /** Paths below that belong to another entry. */
  except?: RegExp;
}

const statistics = /^\/dashboard\/sites\/[^/]+(?:\/(?:events|ai))?$/;

export function entriesOf(siteId: string | undefined, unsentMails: number): Readonly<Record<string, readonly Entry[]>> {
  return {
    "": [{ label: "Today", icon: "today", page: "/" }],
    Agents: [
      { label: "Traces", icon: "traces", page: "/traces" },
      { label: "Agents", icon: "agents", page: "/agents" },
      { label: "Conversations", icon: "conversations", page: "/conversations" },
      { label: "Users", icon: "users", page: "/users" },
      { label: "Failures", icon: "failures", page: "/failures" },
      { label: "Costs", icon: "costs", page: "/costs" },
      { label: "Alerts", icon: "alerts", page: "/alerts", count: unsentMails },
    ],
    Websites: [
      {
        label: "Statistics",
        icon: "statistics",
        page: "/sites/:id",
        href: siteId === undefined ? "/dashboard/sites" : `/dashboard/sites/${siteId}`,
      },
      { label: "Sites", icon: "sites", page: "/sites", except: statistics },
    ],
    Account: [
      { label: "API keys", icon: "keys", page: "/keys" },
      { label: "Channels", icon: "mail", page: "/channels" },
      { label: "Team", icon: "team", page: "/team" },
      { label: "Plan and usage", icon: "plan", page: "/billing" },
    ],
  };
}

const shownWhenNarrow = new Set(["Traces", "Alerts", "Statistics"]);

type Entries = ReturnType<typeof entriesOf>;

export const hrefOf = ({ page, href = `/dashboard${page}` }: Entry) => href;

interface NavigationProps {
  path: string;
  groups: Entries;
  isNarrow: boolean;
}

/** The landmark "Main": groups at the side, or a bar at the bottom of a narrow window. */
export function Navigation({ path, groups, isNarrow }: NavigationProps) {
  if (isNarrow) return <NarrowNavigation path={path} entries={Object.values(groups).flat()} />;
  return (
    <nav aria-label="Main">
      {Object.entries(groups).map(([title, entries]) => (
        <div class="nav-group" key={title}>
          {title && <h2>{title}</h2>}
          <Links path={path} entries={entries} />
        </div>
      ))}
    </nav>
  );
}

function NarrowNavigation({ path, entries }: { path: string; entries: readonly Entry[] }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  const rest = entries.filter(({ label }) => !shownWhenNarrow.has(label));
  return (
    <nav
      aria-label="Main"
      onKeyDown={(event) => {
        if (event.key === "Escape") setOpen(false);
      }}
    >
      {isOpen && <Links className="nav-rest" path={path} entries={rest} />}
      <ul class="nav-bar">
        {entries
          .filter(({ label }) => shownWhenNarrow.has(label))
          .map((entry) => (
            <Item key={entry.label} path={path} entry={entry} />
          ))}
        <li>
          <button type="button" class="nav-link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon name="more" />
            More
          </button>
        </li>
      </ul>
    </nav>
  );
}

function Links({ path, entries, className }: { path: string; entries: readonly Entry[]; className?: string }) {
  return (
    <ul class={className}>
      {entries.map((entry) => (
        <Item key={entry.label} path={path} entry={entry} />
      ))}
    </ul>
  );
}

function Item({ path, entry }: { path: string; entry: Entry }) {
  const { label, icon, page, count = 0 } = entry;
  const countId = useId();
  return (
    <li class="nav-item">
      <a
        class="nav-link"
        href={hrefOf(entry)}
        aria-current={isCurrent(path, entry) ? "page" : undefined}
        aria-describedby={count > 0 ? countId : undefined}
        onPointerEnter={() => void pages[page]?.preload()}
      >
        <Icon name={icon} />
        {label}
      </a>
      {count > 0 && (
        <span class="nav-count">
          <span aria-hidden="true">{count > 99 ? "99+" : count}</span>
          <span id={countId} hidden>
            {formatThings(count, "mail")} did not go out
          </span>
        </span>
      )}
    </li>
  );
}

function isCurrent(path: string, { page, except }: Entry): boolean {
  if (page === "/") return /^\/dashboard\/?$/.test(path);
  if (page === "/sites/:id") return statistics.test(path);
  const own = `/dashboard${page}`;
  return (path === own || path.startsWith(`${own}/`)) && !except?.test(path);
}
