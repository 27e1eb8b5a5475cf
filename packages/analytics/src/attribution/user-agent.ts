import Bowser from "bowser";

/** What a visit was made with, as the browser describes itself; null where it gives nothing that is known. */
export interface UserAgent {
  readonly browser: string | null;
  readonly os: string | null;
  /** `desktop`, `mobile`, `tablet` or `tv`. */
  readonly device: string | null;
}

/** Descriptions whose reading is remembered: visitors share a few thousand, and reading one takes long. */
const maxRemembered = 10_000;

/** No browser describes itself at more length; what is longer is not read further. */
const maxLength = 1_024;

const unknown: UserAgent = { browser: null, os: null, device: null };

/** Makes the function that reads `User-Agent` headers. */
export function createUserAgentReader(): (text: string | null) => UserAgent {
  const remembered = new Map<string, UserAgent>();
  return (text) => {
    if (!text) return unknown;
    const cut = text.slice(0, maxLength);
    const known = remembered.get(cut);
    if (known) return known;
    const fresh = read(cut);
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(cut, fresh);
    return fresh;
  };
}

function read(text: string): UserAgent {
  const { browser, os, platform } = Bowser.parse(text);
  return { browser: browser.name || null, os: os.name || null, device: platform.type || null };
}
