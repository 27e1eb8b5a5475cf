import type { OpenApiDocument, OpenApiOperation } from "../openapi/openapi.js";
import { type JsonSchema, type NamedSchemas, resolveSchema } from "../schema/json-schema.js";
import { escapeHtml, htmlPage, inline } from "./html-page.js";

/** The service's address in examples: the one the reader used for the page. */
interface PageAddress {
  origin: string;
}

/** Renders an OpenAPI document as a page without scripts or external resources. */
export function docsPage(document: OpenApiDocument, address: PageAddress): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const links = operations.map(
    ({ path, method, operation }) =>
      `<a href="#${operation.operationId}"><span class="method">${method}</span> <code>${escapeHtml(path)}</code> <span class="soft">${escapeHtml(operation.summary)}</span></a>`,
  );
  const needsKey = document.security !== undefined;
  const schemas = document.components?.schemas ?? {};
  const sections = operations.map((each) => section({ ...each, origin: address.origin, needsKey, schemas }));
  return htmlPage(
    document.info.title,
    `${prose(document.info.description)}
<p>For tools: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<nav>${links.join("")}</nav>
${sections.join("\n")}`,
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
  if (needsKey && !operation.security) lines.push(`  -H 'Authorization: Bearer API_KEY'`);
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
