import { readFile } from "node:fs/promises";

/** Whether a referrer belongs to a spammer of statistics. */
export type SpamCheck = (referrer: string | null) => boolean;

/**
 * Reads a list of spammers with a host per line, as in Matomo's `spammers.txt`, without empty lines and lines after `#`. A host
 * includes its subdomains.
 * @param file undefined for no list
 * @throws the error of reading the file
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
