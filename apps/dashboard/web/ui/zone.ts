import { signal } from "@preact/signals";

export type Zone = "browser" | "UTC";

const key = "waymark.zone";

function readZone(): Zone {
  try {
    return localStorage.getItem(key) === "UTC" ? "UTC" : "browser";
  } catch {
    return "browser";
  }
}

/** The zone in which pages show moments. Days of statistics are UTC days in any case. */
export const zone = signal<Zone>(readZone());

/** Sets the zone, and keeps it in the browser for the next visit. */
export function setZone(chosen: Zone): void {
  zone.value = chosen;
  try {
    localStorage.setItem(key, chosen);
  } catch {
    // A browser without storage shows it until the tab closes.
  }
}

/** `Asia/Tokyo` */
export const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The name of the zone in which pages show moments. */
export const zoneName = () => (zone.value === "UTC" ? "UTC" : browserZone());
