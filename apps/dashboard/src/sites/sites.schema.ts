import { z } from "zod";

/** The answer of `GET /sites`, oldest first. */
export interface SiteList {
  sites: ListedSite[];
}

export interface ListedSite {
  id: string;
  domain: string;
  name: string;
  createdAt: string;
  /** The first and last UTC day with visits or custom events; null while none arrived. */
  firstDay: string | null;
  lastDay: string | null;
  /** The site gets no events: another account claims the domain, too, and this one has not proven it. */
  isWaiting: boolean;
  /** What proves the domain; null once that is done, or the operator vouches for it. */
  proof: SiteProof | null;
}

/** What an account publishes to get a domain's events for good. One of both is enough. */
export interface SiteProof {
  /** The content of the file and of the record. */
  text: string;
  fileUrl: string;
  recordName: string;
}

const name = z.string().trim().min(1, "Give the site a name").max(200, "Must have at most 200 characters");

export const createSiteBody = z.strictObject({
  domain: z.string().trim().min(1, "Give a domain like example.com").max(500),
  name,
});

export const changeSiteBody = z.strictObject({ name });

export type CreateSiteBody = z.output<typeof createSiteBody>;
/** The answer of `POST /sites/:id/proof`. The reasons say why a place proves nothing. */
export interface ProofAnswer {
  isProven: boolean;
  file?: string;
  record?: string;
}
