import "./sites.css";
import { useEffect, useRef } from "preact/hooks";
import type { SiteList } from "../../src/sites/sites.route.js";
import { useMe } from "../data/me.js";
import { useQuery } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { CopyField } from "../ui/copy-button.js";
import { StatusDot } from "../ui/states.js";

/** The script tag for a site's pages, with "Copy". */
export function Snippet({ domain }: { domain: string }) {
  const me = useMe();
  const collectorUrl = me.data?.collectorUrl.replace(/\/+$/, "");
  if (collectorUrl === undefined) return null;
  return (
    <CopyField
      label="Tracking snippet"
      lines={3}
      value={`<script defer src="${collectorUrl}/js/script.js" data-domain="${domain}"></script>`}
      hint="Paste it into the head of every page. It sets no cookies and stores no addresses."
    />
  );
}

/** Waits for a site's first event: looks every two seconds, and turns by itself. */
export function WaitingForVisit({ siteId }: { siteId: string }) {
  const { data } = useQuery<SiteList>("/sites", { pollMs: 2_000 });
  const site = data?.sites.find(({ id }) => id === siteId);
  const hasVisit = Boolean(site?.firstDay);
  const waited = useRef(false);
  useEffect(() => {
    if (hasVisit && waited.current) announce("The first visit arrived");
    if (site && !hasVisit) waited.current = true;
  }, [site, hasVisit]);
  if (!site) return null;
  if (!hasVisit) {
    return (
      <p class="waiting-line">
        <StatusDot state="running">Waiting for the first visit</StatusDot>
      </p>
    );
  }
  return (
    <p class="waiting-line">
      <StatusDot state="success">The first visit arrived.</StatusDot>{" "}
      <a href={`/dashboard/sites/${siteId}`}>See the statistics</a>
    </p>
  );
}
