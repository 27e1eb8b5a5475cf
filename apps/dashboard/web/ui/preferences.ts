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

export type Zone = "browser" | "UTC";

/** The zone in which pages show moments. Days of statistics are UTC days in any case. */
export const zone = signal<Zone>(read("waymark.zone") === "UTC" ? "UTC" : "browser");

export function setZone(chosen: Zone): void {
  zone.value = chosen;
  keep("waymark.zone", chosen);
}

/** `Asia/Tokyo` */
export const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export const zoneName = () => (zone.value === "UTC" ? "UTC" : browserZone());

/** The site whose statistics were looked at last: the menu's "Statistics" leads there. */
export const readLastSite = () => read("waymark.site");
export const keepLastSite = (id: string) => keep("waymark.site", id);
