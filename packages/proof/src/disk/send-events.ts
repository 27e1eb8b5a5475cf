import { readFileSync } from "node:fs";
import { inParallel } from "./in-parallel.js";

/** A recorded page view (packages/local/assets/demo/README.md). */
interface RecordedView {
  visitor: string;
  path: string;
  referrer?: string;
  country?: string;
  type?: string;
}

/** The longest visits are those of programs. */
const maxViews = 12;

const file = new URL("../../../../packages/local/assets/demo/semicomplete.visits.ndjson", import.meta.url);

const chrome = (system: string) =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36`;
const userAgents = [
  chrome("Windows NT 10.0; Win64; x64"),
  chrome("Macintosh; Intel Mac OS X 10_15_7"),
  "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1",
];

function readVisitors(): RecordedView[][] {
  const visitors = new Map<string, RecordedView[]>();
  for (const line of readFileSync(file, "utf8").trim().split("\n")) {
    const view: RecordedView = JSON.parse(line);
    if (view.type === undefined) visitors.set(view.visitor, [...(visitors.get(view.visitor) ?? []), view]);
  }
  return [...visitors.values()].filter((views) => views.length <= maxViews);
}

/** Sends page views as browsers do, the recorded visitors over and over, each time from another address. */
export async function sendEvents({ url, domain }: { url: string; domain: string }, count: number): Promise<void> {
  const recorded = readVisitors();
  const visits: { number: number; views: RecordedView[] }[] = [];
  for (let sent = 0; sent < count; ) {
    const views = (recorded[visits.length % recorded.length] ?? []).slice(0, count - sent);
    visits.push({ number: visits.length, views });
    sent += views.length;
  }
  await inParallel(visits.length, async (n) => {
    const { number, views } = visits[n] ?? { number: 0, views: [] };
    for (const { path, referrer, country } of views) {
      const answer = await fetch(`${url}/api/event`, {
        method: "POST",
        headers: {
          "User-Agent": userAgents[number % userAgents.length] ?? "",
          "X-Forwarded-For": `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`,
          "CF-IPCountry": country ?? "XX",
        },
        body: JSON.stringify({ name: "pageview", url: `https://${domain}${path}`, domain, referrer }),
      });
      await answer.arrayBuffer();
      if (answer.status !== 202) throw new Error(`The collector answered ${answer.status}`);
    }
  });
}
