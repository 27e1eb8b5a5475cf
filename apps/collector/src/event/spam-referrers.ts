import { readFile } from "node:fs/promises";

/** Whether a referrer belongs to those who send made-up visits to be seen in statistics. */
export type SpamCheck = (referrer: string | null) => boolean;

/**
 * Reads a list of spammers: a host per line, as in Matomo's `spammers.txt`; empty lines and those after `#` are left out.
 * A host stands for its subdomains too.
 * @param file undefined for no list
 * @throws what reading the file throws
 */
export async function loadSpamReferrers(file: string | undefined): Promise<SpamCheck> {
  if (file === undefined) return () => false;
  const lines = (await readFile(file, "utf8")).split("\n").map((line) => line.trim().toLowerCase());
  const hosts = new Set(lines.filter((line) => line !== "" && !line.startsWith("#")));
  return (referrer) => {
    if (referrer === null || !URL.canParse(referrer)) return false;
    let host = new URL(referrer).hostname;
    while (host !== "") {
      if (hosts.has(host)) return true;
      const dot = host.indexOf(".");
      host = dot < 0 ? "" : host.slice(dot + 1);
    }
    return false;
  };
}
