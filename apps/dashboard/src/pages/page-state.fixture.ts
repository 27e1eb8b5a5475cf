import type { Locator, Page } from "playwright-core";
import type { SignedIn } from "../dashboard.fixture.js";

/** People whose pages differ. */
export interface Viewers {
  /** Owns an account with everything. */
  owner: SignedIn;
  member: SignedIn;
  /** Owns a Free account without anything. */
  newcomer: SignedIn;
  /** Owns a Free account at its limits. */
  limited: SignedIn;
  operator: SignedIn;
}

export interface Ids {
  trace: string;
  running: string;
  /** Succeeded. */
  other: string;
  site: string;
  unseenSite: string;
  unprovenSite: string;
  agent: string;
  failure: string;
  linkToken: string;
  /** Pages of shared links: of a site, with a password, of a trace. */
  shared: string;
  guarded: string;
  sharedTrace: string;
  /** Invites a person who is known. */
  knownToken: string;
}

/** One state of a page. */
export interface PageState {
  /** Unlike "full". */
  state?: string;
  /** Nobody for pages before a session. */
  as?: keyof Viewers;
  /** The path below `/dashboard`, where it is not the page's own. */
  path?: string;
  /** Leads from the loaded page to the state. */
  act?(page: Page): Promise<unknown>;
  /** `act` places something by the window's width, so that each width needs it anew. */
  isPlaced?: true;
  /** In sight once the state is there. */
  shows(page: Page): Locator;
}

export const heading = (name: string | RegExp) => (page: Page) => page.getByRole("heading", { name }).first();
export const table = (name: string) => (page: Page) => page.getByRole("table", { name, exact: true });
export const button = (name: string) => (page: Page) => page.getByRole("button", { name, exact: true });
export const dialog = (page: Page) => page.getByRole("dialog");
export const click = (name: string) => (page: Page) => button(name)(page).first().click();

/** Resolves once nothing loads and some frames in a row are the same: what follows the window's width has done so. */
export const settled = `new Promise((resolve) => {
  let last;
  let frames = 0;
  const look = () => {
    const now = document.documentElement.outerHTML;
    frames = now === last && !document.querySelector(".skeleton") ? frames + 1 : 0;
    last = now;
    if (frames === 4) resolve();
    else requestAnimationFrame(look);
  };
  look();
})`;
