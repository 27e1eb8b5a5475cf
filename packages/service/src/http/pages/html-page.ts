import type { Request, Response } from "express";

const style = `
  :root { color-scheme: light dark; --line: #8884; --soft: #8881; }
  body { font: 16px/1.6 system-ui, sans-serif; max-width: 54rem; margin: 0 auto; padding: 1.5rem 1rem 6rem; }
  h1 { line-height: 1.2; } h2 { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.15rem; }
  code, pre { font: 0.875em/1.5 ui-monospace, monospace; } pre { background: var(--soft); padding: 0.75rem; overflow-x: auto; border-radius: 6px; }
  table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.75rem 0.35rem 0; border-bottom: 1px solid var(--line); }
  .method { display: inline-block; min-width: 4.5rem; font-weight: 700; } nav a { display: block; } .soft { opacity: 0.7; }
`;

/** A page without scripts or external resources. @param body HTML */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><h1>${escapeHtml(title)}</h1>
${body}
</body></html>
`;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A text as HTML, with `code` and nothing else of Markdown. */
export function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** Sends a page under a policy without scripts and external resources. */
export function sendHtml(response: Response, page: string): void {
  response.set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
  response.type("html").send(page);
}

/** Sends JSON with a line end: a terminal's next prompt then has its own line. */
export function sendJson(response: Response, body: object): void {
  response.type("json").send(`${JSON.stringify(body)}\n`);
}

export function prefersHtml(request: Request, response: Response): boolean {
  response.vary("Accept");
  return request.accepts(["json", "html"]) === "html";
}
