import type { SignedIn } from "../dashboard.fixture.js";
import { shareLink } from "../sharing/sharing.fixture.js";
import { button, heading, type Ids, type PageState, table } from "./page-state.fixture.js";

/** Shares a site: plain, and with a password. */
export async function shareSite(owner: SignedIn, site: string): Promise<Pick<Ids, "shared" | "guarded">> {
  const frameOrigins = ["https://a-blog-with-a-long-name.example.com", "http://localhost:8080"];
  const links = [
    await shareLink(owner, site, { frameOrigins }),
    await shareLink(owner, site, { password: "correct horse battery" }),
  ];
  const [shared = "", guarded = ""] = links.map(({ token }) => `/shared/${token}`);
  return { shared, guarded };
}

export const sharedPages = ({ shared, guarded }: Ids): Record<string, PageState[]> => ({
  "/shared/:token": [
    { path: shared, shows: table("Event names") },
    { state: "password", path: guarded, shows: button("Open") },
    { state: "ended", path: "/shared/none", shows: heading("This link does not work") },
  ],
  "/shared/:token/events": [{ path: `${shared}/events`, shows: table("Event names") }],
});
