import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import type { OpenApiDocument, OpenApiOperation } from "../openapi/openapi.js";
import { type JsonSchema, type NamedSchemas, resolveSchema } from "../schema/json-schema.js";

/** Calls the service from its own page: the key stays in the field, and an answer is shown as text, at most so much of it. */
const script = `
const most = 100000;
for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("output");
    output.textContent = "…";
    const fields = new FormData(form);
    const query = new URLSearchParams();
    let path = form.dataset.path;
    for (const [name, value] of fields) {
      if (name.startsWith("path:")) path = path.replace("{" + name.slice(5) + "}", encodeURIComponent(value));
      if (name.startsWith("query:") && value !== "") query.set(name.slice(6), value);
    }
    const key = document.querySelector("#key")?.value.trim();
    const body = fields.get("body");
    const headers = { Accept: "application/json", ...(key && { Authorization: "Bearer " + key }) };
    if (body !== null) headers["Content-Type"] = "application/json";
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30000);
    let text = "";
    try {
      const address = path + (query.size > 0 ? "?" + query : "");
      const answer = await fetch(address, { method: form.dataset.method, headers, signal: stop.signal, ...(body !== null && { body }) });
      text = answer.status + " " + answer.statusText + "\\n";
      const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (let part; reader && text.length < most && !(part = await reader.read()).done; ) {
        text += part.value;
        output.textContent = text.slice(0, most);
      }
      stop.abort();
      const [line, ...rest] = text.split("\\n");
      if (text.length < most) text = line + "\\n" + JSON.stringify(JSON.parse(rest.join("\\n")), null, 2);
    } catch (error) {
      if (text === "") text = "No answer: " + error.message;
    }
    output.textContent = text.slice(0, most);
  });
}
`;

const tryItHash = `sha256-${createHash("sha256").update(script).digest("base64")}`;
const tryItScript = `<script>${script}</script>`;

const keyField =
  '<p><label for="key">Your key, for the calls below</label> <input id="key" type="password" autocomplete="off" size="40"></p>';

interface Tried {
  path: string;
  method: string;
  operation: OpenApiOperation;
}

function tryItForm({ path, method, operation }: Tried, example: unknown, html: (text: string) => string): string {
  const { content } = operation.requestBody ?? {};
  if (content && !content["application/json"]) return "";
  const inputs = operation.parameters
    .filter((each) => each.in !== "header")
    .map(({ in: location, name, required }) => {
      const id = `${operation.operationId}.${name}`;
      return `<p><label for="${id}"><code>${html(name)}</code></label> <input id="${id}" name="${location}:${html(name)}"${required ? " required" : ""}></p>`;
    });
  const id = `${operation.operationId}.body`;
  const text = example === undefined ? "{}" : JSON.stringify(example, null, 2);
  const body = content
    ? `<p><label for="${id}">Body</label><br><textarea id="${id}" name="body" rows="8" cols="60">${html(text)}</textarea></p>`
    : "";
  return `<details><summary>Try it</summary><form class="try" data-method="${method}" data-path="${html(path)}">
${inputs.join("")}${body}<button>Send</button><pre><output></output></pre></form></details>`;
}

const style = `
  :root { color-scheme: light dark; --line: #8884; --soft: #8881; }
  body { font: 16px/1.6 system-ui, sans-serif; max-width: 54rem; margin: 0 auto; padding: 1.5rem 1rem 6rem; }
  h1 { line-height: 1.2; } h2 { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.15rem; }
  code, pre { font: 0.875em/1.5 ui-monospace, monospace; } pre { background: var(--soft); padding: 0.75rem; overflow-x: auto; border-radius: 6px; }
  table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.75rem 0.35rem 0; border-bottom: 1px solid var(--line); }
  .method { display: inline-block; min-width: 4.5rem; font-weight: 700; } nav a { display: block; } .soft { opacity: 0.7; }
`;

export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><h1>${escapeHtml(title)}</h1>
${body}
</body></html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A text as HTML, with `code` and nothing else of Markdown. */
export function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
/** With the page's own script alone, which calls this service alone. */
export const tryItPolicy = `${pagePolicy}; connect-src 'self'; script-src '${tryItHash}'`;

/** Sends a page under a policy without external resources, and without scripts unless told. */
export function sendHtml(response: Response, page: string, policy = pagePolicy): void {
  response.set("Content-Security-Policy", policy);
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

/** @param origin the service's address in examples: the one the reader used for the page */
export function docsPage(document: OpenApiDocument, origin: string): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const links = operations.map(
    ({ path, method, operation }) =>
      `<a href="#${operation.operationId}"><span class="method">${method}</span> <code>${escapeHtml(path)}</code> <span class="soft">${escapeHtml(operation.summary)}</span></a>`,
  );
  const needsKey = document.components?.securitySchemes !== undefined;
  const schemas = document.components?.schemas ?? {};
  const sections = operations.map((each) => section({ ...each, origin, needsKey, schemas }));
  return htmlPage(
    document.info.title,
    `${prose(document.info.description)}
<p>For tools: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<nav>${links.join("")}</nav>
${needsKey ? keyField : ""}
${sections.join("\n")}
${needsKey ? tryItScript : ""}`,
  );
}

interface Call {
  path: string;
  method: string;
  operation: OpenApiOperation;
  origin: string;
  needsKey: boolean;
  schemas: NamedSchemas;
}

function section(call: Call): string {
  const { path, method, operation, schemas } = call;
  const body = operation.requestBody?.content["application/json"];
  const parts = [
    `<h2 id="${operation.operationId}"><span class="method">${method}</span> <code>${escapeHtml(path)}</code></h2>`,
    `<p>${inline(operation.summary)}.</p>`,
    operation.description ? prose(operation.description) : "",
    operation.parameters.length > 0 ? table("Parameters", operation.parameters.map(parameterRow)) : "",
    body ? table("Body", fieldRows(body.schema, schemas)) : "",
    `<h3>Request</h3><pre>${escapeHtml(curl(call, body?.example))}</pre>`,
    call.needsKey ? tryItForm(call, body?.example, escapeHtml) : "",
    "<h3>Answers</h3>",
    ...Object.entries(operation.responses).map(([status, answer]) => {
      const headers = answer.headers
        ? `<p class="soft">Headers: ${Object.keys(answer.headers).map(escapeHtml).join(", ")}</p>`
        : "";
      const examples = Object.entries(answer.content).flatMap(([type, { example }]) => {
        if (example === undefined) return [];
        if (type === "application/json") return [JSON.stringify(example, null, 2)];
        return [`${type}\n\n${example}`];
      });
      const shown = examples.map((example) => `<pre>${escapeHtml(example)}</pre>`).join("");
      return `<p><strong>${status}</strong> ${inline(answer.description)}</p>${headers}${shown}`;
    }),
  ];
  return parts.join("\n");
}

type Row = [name: string, type: string, need: string, note: string];

function table(title: string, rows: Row[]): string {
  const lines = rows.map(
    ([name, type, need, note]) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(type)}</td><td>${need}</td><td>${inline(note)}</td></tr>`,
  );
  return `<h3>${title}</h3><table><thead><tr><th>Name</th><th>Type</th><th></th><th></th></tr></thead><tbody>${lines.join("")}</tbody></table>`;
}

function parameterRow(parameter: OpenApiOperation["parameters"][number]): Row {
  const need = parameter.required ? "required" : `in the ${parameter.in}`;
  return [parameter.name, typeName(parameter.schema), need, parameter.description ?? ""];
}

/** The fields of an object, with those of list elements as `spans[].name`. */
function fieldRows(given: JsonSchema, schemas: NamedSchemas, prefix = ""): Row[] {
  const schema = resolveSchema(given, schemas);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    [
      prefix + name,
      typeName(field),
      schema.required?.includes(name) ? "required" : "",
      field.description ?? field.anyOf?.find((option) => option.description)?.description ?? "",
    ],
    ...fieldRows(field.items ?? {}, schemas, `${prefix}${name}[].`),
  ]);
}

function typeName(schema: JsonSchema): string {
  if (schema.$ref) return schema.$ref.split("/").at(-1) ?? "";
  if (schema.type === "array" && schema.items) return `list of ${typeName(schema.items)}`;
  if (schema.enum) return schema.enum.join(", ");
  if (schema.anyOf) return schema.anyOf.map(typeName).join(" or ");
  if (Array.isArray(schema.type)) return schema.type.join(" or ");
  return schema.type ?? "any JSON";
}

function curl({ path, method, operation, origin, needsKey }: Call, example: unknown): string {
  const lines = [`curl -X ${method} ${origin}${path}`];
  if (needsKey && operation.security.length > 0) lines.push(`  -H 'Authorization: Bearer API_KEY'`);
  for (const { in: location, name, example: value } of operation.parameters) {
    if (location === "header" && value !== undefined) lines.push(`  -H '${name}: ${value}'`);
  }
  if (example !== undefined) {
    lines.push(`  -H 'Content-Type: application/json'`, `  -d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`);
  }
  return lines.join(" \\\n");
}

function prose(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join("\n");
}
