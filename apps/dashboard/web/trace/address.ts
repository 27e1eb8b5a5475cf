import { queryOf } from "../data/paths.js";
import type { Stretch } from "./timeline.js";

export interface Address {
  span: string | undefined;
  find: string;
  zoom: Stretch | undefined;
}

export function readAddress(): Address {
  const query = new URLSearchParams(location.search);
  const [from, to] = [Number(query.get("from") ?? Number.NaN), Number(query.get("to") ?? Number.NaN)];
  const span = query.get("span")?.toLowerCase();
  return { span, find: query.get("find") ?? "", zoom: from < to ? { from, to } : undefined };
}

/** Replaces the address of a trace's page without a navigation. Back may have led elsewhere before the page is gone. */
export function writeAddress(traceId: string, { span, find, zoom }: Address): void {
  if (!location.pathname.toLowerCase().endsWith(`/${traceId}`)) return;
  const toMicros = (ms: number) => String(Math.round(ms * 1_000) / 1_000);
  const search = queryOf({ span, find, from: zoom && toMicros(zoom.from), to: zoom && toMicros(zoom.to) });
  if (search !== location.search) history.replaceState(history.state, "", location.pathname + search);
}

export function neighbourOf(id: string, step: number): string | undefined {
  try {
    const ids: unknown = JSON.parse(sessionStorage.getItem("waymark:list") ?? "[]");
    if (!Array.isArray(ids)) return undefined;
    const at = ids.indexOf(id);
    const neighbour: unknown = at === -1 ? undefined : ids[at + step];
    return typeof neighbour === "string" ? neighbour : undefined;
  } catch {
    return undefined;
  }
}
