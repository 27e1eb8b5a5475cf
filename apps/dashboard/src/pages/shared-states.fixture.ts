import type { SignedIn } from "../dashboard.fixture.js";
import { shareLink } from "../sharing/sharing.fixture.js";
import { button, heading, type Ids, type PageState, table } from "./page-state.fixture.js";

/** Shares a site, plain and with a password, and a trace. */
export async function shareSome(owner: SignedIn, { site, trace }: Pick<Ids, "site" | "trace">) {
  const frameOrigins = ["https://a-blog-with-a-long-name.example.com", "http://localhost:8080"];
  const links = [
    await shareLink(owner, site, { frameOrigins }),
    await shareLink(owner, site, { password: "correct horse battery" }),
    await shareLink(owner, `/traces/${trace}`),
  ];
  const [shared = "", guarded = "", sharedTrace = ""] = links.map(({ token }) => `/shared/${token}`);
  return { shared, guarded, sharedTrace };
}

export const sharedPages = ({ shared, guarded, sharedTrace }: Ids): Record<string, PageState[]> => ({
  "/shared/:token": [
    { path: shared, shows: table("Event names") },
    { state: "password", path: guarded, shows: button("Open") },
    { state: "trace", path: sharedTrace, shows: (page) => page.getByText("amount does not add up").first() },
    { state: "ended", path: "/shared/none", shows: heading("This link does not work") },
  ],
  "/shared/:token/events": [{ path: `${shared}/events`, shows: table("Event names") }],
});
