import { signal } from "@preact/signals";

export function read(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keep(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // A browser without storage forgets it when the tab closes.
  }
}

export type Theme = "system" | "light" | "dark";

export function readTheme(): Theme {
  const kept = read("waymark.theme");
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function setTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  keep("waymark.theme", theme);
}

const isZone = (name: string) => {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
};

const kept = read("waymark.zone") ?? "";

/** The zone in which pages show moments: `browser`, or a name such as `UTC`. Days of statistics are UTC days in any case. */
export const zone = signal(isZone(kept) ? kept : "browser");

export function setZone(chosen: string): void {
  zone.value = chosen;
  keep("waymark.zone", chosen);
}

/** `Asia/Tokyo` */
export const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export const zoneName = () => (zone.value === "browser" ? browserZone() : zone.value);

/** The site whose statistics were looked at last: the menu's "Statistics" leads there. */
export const readLastSite = () => read("waymark.site");
export const keepLastSite = (id: string) => keep("waymark.site", id);
