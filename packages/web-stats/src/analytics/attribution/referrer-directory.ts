import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { aliases, notSearchHosts, ownSearchHosts, ownSources, searchNames } from "./own-sources.js";
import type { Source, SourceKind } from "./source.js";

export interface ReferrerDirectory {
  /**
   * @param host lower case, with or without `www.`, or the id of an app, such as `com.twitter.android`
   * @param path of the referrer; a few sources need it, such as `google.com/imgres`
   */
  byHost(host: string, path?: string): Source | undefined;
  /** @param name as in a `utm_source`, in any case: `google`, `hacker-news`, `fb` */
  byName(name: string): Source | undefined;
}

interface Entry {
  /** The start of the path; empty for any. */
  readonly path: string;
  readonly source: Source;
  readonly withSubdomains: boolean;
}

/** A country at the end of a host: `com`, `de`, `co.uk`, `com.br`. */
const countryEnding = /\.(?:com|(?:(?:ac|co|com|edu|gov|ne|net|or|org)\.)?[a-z]{2})$/;

let loaded: ReferrerDirectory | undefined;

/** The directory from the lists in `assets/referrers`, read at the first call. */
export function loadReferrers(): ReferrerDirectory {
  loaded ??= buildDirectory();
  return loaded;
}

function buildDirectory(): ReferrerDirectory {
  const entries = new Map<string, Entry[]>();
  const names = new Map<string, Source>();
  const add = (name: string, kind: SourceKind, hosts: readonly string[], isNameKnown: boolean) => {
    const source: Source = { name, kind };
    for (const host of hosts) addEntry(entries, host, source);
    if (isNameKnown && !names.has(squeeze(name))) names.set(squeeze(name), source);
  };
  // The first entry wins: our sources, then assistants, social networks, search engines.
  for (const { name, kind, hosts } of ownSources) add(name, kind, hosts, true);
  for (const [name, hosts] of readList("AIAssistants")) add(name, "ai", hosts, true);
  for (const [name, hosts] of readList("Socials")) add(name, "social", hosts, true);
  for (const [host, name] of Object.entries(ownSearchHosts)) add(name, "search", [host], false);
  for (const [name, hosts] of readList("SearchEngines")) add(name, "search", hosts, searchNames.includes(name));
  for (const [alias, name] of Object.entries(aliases)) {
    const source = names.get(squeeze(name));
    if (source) names.set(alias, source);
  }
  return {
    byHost: (host, path = "/") => findByHost(entries, host, path),
    byName: (name) => names.get(squeeze(name)),
  };
}

/** A list by name and hosts. Search engines have further members, not needed here. */
function readList(file: "AIAssistants" | "Socials" | "SearchEngines"): [string, string[]][] {
  const text = readFileSync(new URL(`../../../assets/referrers/${file}.yml`, import.meta.url), "utf8");
  const list: Record<string, (string | { urls?: string[] })[]> = parse(text);
  return Object.entries(list).map(([name, groups]) => [
    // One name in the lists is percent-encoded ("Google%2B").
    name.replace("%2B", "+"),
    groups.flatMap((group) => (typeof group === "string" ? [group] : (group.urls ?? []))),
  ]);
}

function addEntry(entries: Map<string, Entry[]>, pattern: string, source: Source): void {
  const slash = pattern.indexOf("/");
  const host = withoutWww(slash < 0 ? pattern : pattern.slice(0, slash));
  const path = slash < 0 ? "" : pattern.slice(slash);
  if (source.kind === "search" && notSearchHosts.has(host)) return;
  const atHost = entries.get(host) ?? [];
  if (atHost.some((entry) => entry.path === path)) return;
  // A search engine's other subdomains are other things: mail, documents, maps.
  atHost.push({ path, source, withSubdomains: source.kind !== "search" });
  atHost.sort((a, b) => b.path.length - a.path.length);
  entries.set(host, atHost);
}

function findByHost(entries: Map<string, Entry[]>, host: string, path: string): Source | undefined {
  const bare = withoutWww(host);
  const exact = findEntry(entries, bare, path, false) ?? findEntry(entries, bare.replace(/^m\./, ""), path, false);
  if (exact) return exact.source;
  for (let dot = bare.indexOf("."); dot >= 0; dot = bare.indexOf(".", dot + 1)) {
    const entry = findEntry(entries, bare.slice(dot + 1), path, true);
    if (entry) return entry.source;
  }
  return undefined;
}

function findEntry(entries: Map<string, Entry[]>, host: string, path: string, isParent: boolean): Entry | undefined {
  for (const key of keysOf(host)) {
    const entry = entries.get(key)?.find((each) => path.startsWith(each.path) && (each.withSubdomains || !isParent));
    if (entry) return entry;
  }
  return undefined;
}

/** The forms of a host in the lists: itself, and with `{}` for its country. */
function keysOf(host: string): string[] {
  const keys = [host];
  if (countryEnding.test(host)) keys.push(host.replace(countryEnding, ".{}"));
  const labels = host.split(".");
  for (let i = 0; i < labels.length - 1; i++) {
    if (labels[i]?.length === 2) keys.push(labels.with(i, "{}").join("."));
  }
  return keys;
}

function withoutWww(host: string): string {
  return host.replace(/^www\d*\./, "");
}

function squeeze(name: string): string {
  return name
    .toLowerCase()
    .replaceAll("+", "plus")
    .replace(/[^\p{L}\p{N}]/gu, "");
}
