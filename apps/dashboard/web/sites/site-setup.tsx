import { useEffect, useRef } from "preact/hooks";
import type { ProofAnswer, SiteProof } from "../../src/sites/find-proof.js";
import type { ListedSite, SiteList } from "../../src/sites/sites.route.js";
import { api } from "../data/api.js";
import { useAction, useMe, useQuery } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { CopyField } from "../ui/copy-button.js";
import { Banner, StatusDot } from "../ui/page.js";
import "./sites.css";

export function ProofSteps({ site, proof }: { site: ListedSite; proof: SiteProof }) {
  const isOwner = useMe().data?.role === "owner";
  const check = useAction(() => api.post<ProofAnswer>(`/sites/${site.id}/proof`), {
    invalidates: ["/sites", "/audit"],
    onDone: ({ isProven }) => {
      announce(isProven ? "The domain is proven" : "No proof was found");
      if (isProven) keepFocus();
    },
  });
  return (
    <>
      {site.isWaiting ? (
        <Banner tone="warning">
          Another account claims {site.domain}, too. This site gets no events until you prove that the domain is yours.
        </Banner>
      ) : (
        <p class="field">
          Nobody has proven {site.domain} yet. Prove it, so that no other account's claim stops its events.
        </p>
      )}
      <CopyField
        label="Proof"
        value={proof.text}
        hint="Publish this text as the file or as the record below, then check. One is enough."
      />
      <dl class="proof-places">
        <dt>File</dt>
        <dd class="mono">{proof.fileUrl}</dd>
        <dt>TXT record</dt>
        <dd class="mono">{proof.recordName}</dd>
      </dl>
      {check.error && <Banner tone="error">{check.error.message}</Banner>}
      {check.output && !check.output.isProven && !check.error && (
        <Banner tone="error">
          No proof yet. File: {check.output.file} Record: {check.output.record}
        </Banner>
      )}
      {isOwner ? (
        <Button text="Check the proof" isBusy={check.isBusy} onClick={() => check.run()} />
      ) : (
        <p class="hint">An owner of the account checks the proof.</p>
      )}
    </>
  );
}

/** A proof takes its button away: the focus goes to the dialog's "Done", or to the page's heading. */
function keepFocus(): void {
  const next =
    document.querySelector<HTMLElement>("dialog[open] .dialog-actions button") ?? document.querySelector("h1");
  next?.focus();
}

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
      <p class="row waiting-line">
        <StatusDot state="running">Waiting for the first visit</StatusDot>
      </p>
    );
  }
  return (
    <p class="row waiting-line">
      <StatusDot state="success">The first visit arrived.</StatusDot>{" "}
      <a href={`/dashboard/sites/${siteId}`}>See the statistics</a>
    </p>
  );
}
