const outlines = {
  today:
    "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1.25v1.5M8 13.25v1.5M1.25 8h1.5M13.25 8h1.5M3.25 3.25l1 1M11.75 11.75l1 1M3.25 12.75l1-1M11.75 4.25l1-1",
  traces: "M2 4h7M2 8h12M5 12h8",
  agents: "M8 8.5a2.75 2.75 0 1 0 0-5.5 2.75 2.75 0 0 0 0 5.5ZM2.75 14a5.25 5.25 0 0 1 10.5 0",
  conversations: "M2 3h12v8H7.5l-3 3v-3H2zM5 6h6M5 8.25h4",
  users:
    "M1.75 3.5h12.5v9H1.75zM5.5 8a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM3.25 10.75a2.25 2.25 0 0 1 4.5 0M10 6.5h2.25M10 9h2.25",
  failures: "M8 14.25A6.25 6.25 0 1 0 8 1.75a6.25 6.25 0 0 0 0 12.5ZM5.75 5.75l4.5 4.5M10.25 5.75l-4.5 4.5",
  costs:
    "M8 1.75v12.5M11 5c-.5-1-1.5-1.5-3-1.5-1.75 0-3 .75-3 2.1C5 9 11.25 7 11.25 10.25c0 1.5-1.4 2.25-3.25 2.25-1.75 0-2.9-.7-3.25-2",
  alerts: "M4 11V7.25a4 4 0 1 1 8 0V11l1.25 1.5H2.75L4 11ZM6.5 14.5h3",
  statistics: "M3 13.5v-4M8 13.5v-11M13 13.5v-7",
  sites: "M8 14.25A6.25 6.25 0 1 0 8 1.75a6.25 6.25 0 0 0 0 12.5ZM2 8h12M8 1.75c-4 4-4 8.5 0 12.5 4-4 4-8.5 0-12.5Z",
  keys: "M5.25 11a2.75 2.75 0 1 0 0-5.5 2.75 2.75 0 0 0 0 5.5ZM8 8.25h6.25V11M11.5 8.25v2",
  team: "M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5a4.5 4.5 0 0 1 9 0M10.75 3.25a2.5 2.5 0 0 1 0 4.5M12 9.5a4.5 4.5 0 0 1 2.5 4",
  plan: "M1.75 3.5h12.5v9H1.75zM1.75 6.5h12.5",
  person: "M8 8.5a2.75 2.75 0 1 0 0-5.5 2.75 2.75 0 0 0 0 5.5ZM2.75 14a5.25 5.25 0 0 1 10.5 0",
  more: "M3.5 7.75v.5M8 7.75v.5M12.5 7.75v.5",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.75 10.75 14 14",
  copy: "M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3",
  check: "m3 8.5 3.25 3.25L13 4.75",
  close: "m4 4 8 8M12 4l-8 8",
  warning: "M8 2 14.5 13.5h-13L8 2ZM8 6.5v3M8 11.5v.01",
  down: "m4 6 4 4 4-4",
  up: "m4 10 4-4 4 4",
  mail: "M1.75 3.5h12.5v9H1.75zM2 4l6 5 6-5",
  download: "M8 2.5v7.5M4.75 7 8 10.25 11.25 7M3 13.5h10",
  plus: "M8 3v10M3 8h10",
} as const;

export type IconName = keyof typeof outlines;

/** A drawing beside a text that says the same; screen readers pass over it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={outlines[name]} />
    </svg>
  );
}

export function Brand() {
  return (
    <a class="brand" href="/dashboard/">
      <svg width="20" height="22" viewBox="0 0 20 22" aria-hidden="true" focusable="false">
        <path d="M10 0 19.5 5.5v11L10 22 .5 16.5v-11Z" />
        <path class="brand-letter" d="m5.5 8 2 6 2.5-5.5 2.5 5.5 2-6" />
      </svg>
      Waymark
    </a>
  );
}
