import request from "supertest";
import type { SignedIn, TestDashboard } from "../dashboard.fixture.js";
import type { CreatedLink, CreateLinkBody } from "./links.route.js";

export const dayAfter = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** Shares a site, or a trace by its path, for a week unless the terms say otherwise; with the token of the address. */
export async function shareLink(by: SignedIn, of: string, terms: Partial<CreateLinkBody> = {}) {
  const { body } = await by
    .post(`${of.startsWith("/") ? of : `/sites/${of}`}/links`, { lastDay: dayAfter(7), ...terms })
    .expect(201);
  const link: CreatedLink = body;
  return { ...link, token: link.url.split("/").at(-1) ?? "" };
}

/** Asks for the page of a link, as a browser without a session does. */
export function openPage({ app }: TestDashboard, token: string, headers: Record<string, string> = {}) {
  return request(app).get(`/dashboard/shared/${token}`).set(headers);
}
