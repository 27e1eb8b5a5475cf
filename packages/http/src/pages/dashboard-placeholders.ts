import { Router } from "express";
import { markRoute } from "../route/request-context.js";
import { refuseMethod } from "../route/route.js";
import { htmlPage, inline, prefersHtml, sendHtml, sendJson } from "./html-page.js";

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The answer at an address of the dashboard until there is one. */
interface Signpost {
  title: string;
  message: string;
  /** Commands or requests that do the same. */
  instead: readonly string[];
}

const noDashboard = "The dashboard is not part of this installation yet.";

const billing: Signpost = {
  title: "Plan and keys",
  message: `${noDashboard} Whoever runs it changes an account's plan and makes its keys on the command line.`,
  instead: [
    "waymark account plan ACCOUNT_ID --plan pro",
    "waymark key create --account ACCOUNT_ID --service analytics --name NAME",
  ],
};

/** @param id a UUID: nothing else of what a client sends may appear in a page */
function traceSignpost(id: string): Signpost {
  return {
    title: "A trace",
    message: `${noDashboard} Read this trace on the command line or by the trace API, with a key of its account.`,
    instead: [`waymark trace show ${id}`, `GET /api/v1/traces/${id}`],
  };
}

/**
 * Answers the two addresses of the dashboard that the contracts and failure mails name, `/dashboard/billing` and
 * `/dashboard/traces/:id`: what to do as long as there is no dashboard. They are public, and look nothing up.
 */
export function dashboardSignposts(): Router {
  const router = Router();
  const at = (path: string, signpostOf: (id: string) => Signpost | undefined) => {
    router
      .route(path)
      .get((request, response, next) => {
        const signpost = signpostOf(String(request.params["id"]));
        if (!signpost) return next("route");
        markRoute(response, path);
        if (!prefersHtml(request, response)) return sendJson(response, toJson(signpost));
        sendHtml(response, toHtml(signpost));
      })
      .all(refuseMethod(["GET", "HEAD"], path));
  };
  at("/dashboard/billing", () => billing);
  at("/dashboard/traces/:id", (id) => (uuidForm.test(id) ? traceSignpost(id.toLowerCase()) : undefined));
  return router;
}

function toJson({ message, instead }: Signpost) {
  return { message, instead };
}

function toHtml({ title, message, instead }: Signpost): string {
  return htmlPage(title, `<p>${inline(message)}</p>\n<pre>${inline(instead.join("\n"))}</pre>`);
}
