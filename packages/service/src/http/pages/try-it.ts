import { createHash } from "node:crypto";
import type { OpenApiOperation } from "../openapi/openapi.js";

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

export const tryItHash = `sha256-${createHash("sha256").update(script).digest("base64")}`;
export const tryItScript = `<script>${script}</script>`;

export const keyField =
  '<p><label for="key">Your key, for the calls below</label> <input id="key" type="password" autocomplete="off" size="40"></p>';

interface Tried {
  path: string;
  method: string;
  operation: OpenApiOperation;
}

export function tryItForm(
  { path, method, operation }: Tried,
  example: unknown,
  html: (text: string) => string,
): string {
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
