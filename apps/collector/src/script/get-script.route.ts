import { hash } from "node:crypto";
import { AppError } from "@waymark/errors";
import { type Answer, type Route, route } from "@waymark/service/http";
import type { Request } from "express";
import { z } from "zod";

/** Parts of the tracker that a page asks for by the script's name, as with Plausible's: `script.outbound-links.js`. */
export const extensionNames = ["outbound-links", "file-downloads", "form-submissions"] as const;

/** The source of the tracker: a program, and a function that takes the names of extensions. */
export interface TrackerSource {
  readonly script: string;
  readonly extensions: string;
}

/** The source without the ends and indents of its lines, some tenth of its size. */
export const joinLines = (source: string) => source.replace(/\n\s*/g, "");

export function composeTracker({ script, extensions }: TrackerSource, names: readonly string[]): string {
  if (names.length === 0) return script;
  return `${script}(${extensions.trim().replace(/;$/, "")})(${JSON.stringify(names)});\n`;
}

/** @returns the extensions of `outbound-links.file-downloads`, in one order; undefined for anything else */
function readExtensions(text: string): readonly string[] | undefined {
  const names = text.split(".");
  const known = extensionNames.filter((name) => names.includes(name));
  return known.length === names.length ? known : undefined;
}

/** A browser asks again after so long, so a new version reaches every visitor. */
const maxAgeSeconds = 3_600;

const common = {
  method: "get",
  // Pages may add a version to get around a cache.
  lenientQuery: [],
  answers: {
    200: {
      description: "JavaScript, to be kept for an hour",
      schema: z.string(),
      contentType: "text/javascript",
      headers: ["ETag"],
    },
  },
} as const;

/** Serves the tracker, also with extensions; 304 by its `ETag`. */
export function scriptRoutes({ tracker }: { tracker: TrackerSource }): Route[] {
  const answer = createScriptAnswers(tracker);
  return [
    route({
      ...common,
      path: "/js/script.js",
      operationId: "getScript",
      summary: "The tracker that pages load",
      description: "Takes `data-domain` and `data-api` from its own tag. It sets no cookie and stores nothing.",
      handle: async ({ request }) => answer(request, []),
    }),
    route({
      ...common,
      path: "/js/script.:extensions.js",
      params: { extensions: `Names with \`.\` between, such as \`${extensionNames.slice(0, 2).join(".")}\`` },
      operationId: "getExtendedScript",
      summary: "The tracker with extensions",
      description: `It also reports clicks and submissions as custom events without interaction. The extensions are ${extensionNames.map((name) => `\`${name}\``).join(", ")}.`,
      async handle({ request, params }) {
        const names = readExtensions(params["extensions"] ?? "");
        if (!names) throw new AppError("not_found");
        return answer(request, names);
      },
    }),
  ];
}

/** Makes the function that answers with a tracker, or 304. It keeps each combination once. */
function createScriptAnswers(tracker: TrackerSource) {
  const made = new Map<string, { body: string; etag: string }>();
  return (request: Request, names: readonly string[]): Answer => {
    const key = names.join(".");
    const script = made.get(key) ?? withTag(composeTracker(tracker, names));
    made.set(key, script);
    const { body, etag } = script;
    const headers = {
      "Cache-Control": `public, max-age=${maxAgeSeconds}`,
      ETag: etag,
      "X-Content-Type-Options": "nosniff",
    };
    // A compressing proxy weakens the tag: `W/"…"` (RFC 9110, 8.8.3).
    const isKnown = request.headers["if-none-match"]?.includes(etag) === true;
    return { status: isKnown ? 304 : 200, headers, contentType: "text/javascript", body: isKnown ? "" : body };
  };
}

function withTag(body: string) {
  return { body, etag: `"${hash("sha256", body, "base64url").slice(0, 22)}"` };
}
