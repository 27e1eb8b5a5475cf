import { childrenOf, type JsonChild, type JsonValue, rootOf, stringOf, textOf, tokenOf } from "./json.js";

export type Part =
  | { type: "text"; text: string }
  /** A call of a tool; the arguments are JSON text as sent. */
  | { type: "call"; name: string; json: string }
  | { type: "json"; json: string };

export interface Message {
  role: string;
  parts: Part[];
}

const maxMessages = 2_000;

type Members = Map<string, JsonChild>;

function membersOf(text: string, value: JsonValue): Members {
  return new Map(childrenOf(text, value).map((child) => [textOf(child.key ?? '""'), child]));
}

/**
 * The messages of a stored input or output; undefined if it is something else. It knows lists of messages with `role`, and
 * objects with one message, `messages`, `choices` (OpenAI), `system` and `content` (Anthropic), `parts` (OpenTelemetry's
 * `gen_ai.input.messages`), and the flattened keys of OpenInference.
 */
export function messagesOf(text: string): Message[] | undefined {
  const root = rootOf(text);
  if (root?.type === "array") return listOf(text, root);
  if (root?.type !== "object") return undefined;
  const members = membersOf(text, root);
  if (members.has("role") && (members.has("content") || members.has("parts") || members.has("tool_calls"))) {
    const message = messageOf(text, root);
    return message && [message];
  }
  const choices = members.get("choices");
  if (choices?.type === "array") return choicesOf(text, choices);
  for (const key of ["messages", "gen_ai.input.messages", "gen_ai.output.messages", "input", "output"]) {
    const list = members.get(key);
    const messages = list && nested(text, list);
    if (messages) return [...systemOf(text, members), ...messages];
  }
  return flattened(text, members);
}

function nested(text: string, value: JsonValue): Message[] | undefined {
  if (value.type === "array") return listOf(text, value);
  const inner = stringOf(text, value);
  return inner?.trimStart().startsWith("[") ? messagesOf(inner) : undefined;
}

function listOf(text: string, list: JsonValue): Message[] | undefined {
  const items = childrenOf(text, list, maxMessages + 1);
  if (items.length === 0 || items.length > maxMessages) return undefined;
  const messages: Message[] = [];
  for (const item of items) {
    const message = item.type === "object" ? messageOf(text, item) : undefined;
    if (!message) return undefined;
    messages.push(message);
  }
  return messages;
}

function choicesOf(text: string, choices: JsonValue): Message[] | undefined {
  const messages = childrenOf(text, choices).map((choice) => {
    const message = membersOf(text, choice).get("message");
    return message?.type === "object" ? messageOf(text, message) : undefined;
  });
  const found = messages.filter((message) => message !== undefined);
  return found.length > 0 && found.length === messages.length ? found : undefined;
}

function systemOf(text: string, members: Members): Message[] {
  const system = members.get("system");
  return system ? [{ role: "system", parts: contentOf(text, system) }] : [];
}

function messageOf(text: string, value: JsonValue): Message | undefined {
  const members = membersOf(text, value);
  const role = stringOf(text, members.get("role"));
  if (role === undefined) return undefined;
  const parts: Part[] = [];
  for (const key of ["content", "parts"]) {
    const content = members.get(key);
    if (content) parts.push(...contentOf(text, content));
  }
  const calls = members.get("tool_calls");
  if (calls?.type === "array") parts.push(...childrenOf(text, calls).map((call) => callOf(text, call)));
  const single = members.get("function_call");
  if (single?.type === "object") parts.push(callOf(text, single));
  return { role, parts };
}

function contentOf(text: string, content: JsonValue): Part[] {
  const string = stringOf(text, content);
  if (string !== undefined) return string === "" ? [] : [{ type: "text", text: string }];
  if (content.type === "array") return childrenOf(text, content).map((part) => partOf(text, part));
  return tokenOf(text, content) === "null" ? [] : [{ type: "json", json: tokenOf(text, content) }];
}

const textTypes = new Set([undefined, "text", "input_text", "output_text", "reasoning", "thinking"]);
const callTypes = new Set(["tool_use", "tool_call", "tool-call", "function_call", "function"]);

function partOf(text: string, part: JsonValue): Part {
  const string = stringOf(text, part);
  if (string !== undefined) return { type: "text", text: string };
  const json: Part = { type: "json", json: tokenOf(text, part) };
  if (part.type !== "object") return json;
  const members = membersOf(text, part);
  const type = stringOf(text, members.get("type"));
  if (type !== undefined && callTypes.has(type)) return callOf(text, part);
  if (!textTypes.has(type)) return json;
  const own = stringOf(text, members.get("text")) ?? stringOf(text, members.get("content"));
  return own === undefined ? json : { type: "text", text: own };
}

/** A call as OpenAI (`function.name`, `function.arguments`), Anthropic (`input`) or OpenTelemetry (`arguments`) writes it. */
function callOf(text: string, call: JsonValue): Part {
  const outer = membersOf(text, call);
  const inner = outer.get("function") ?? outer.get("tool_call.function");
  const members = inner?.type === "object" ? membersOf(text, inner) : outer;
  const name = stringOf(text, members.get("name") ?? members.get("toolName"));
  if (name === undefined) return { type: "json", json: tokenOf(text, call) };
  const given = members.get("arguments") ?? members.get("input") ?? members.get("args");
  if (!given) return { type: "call", name, json: "{}" };
  const string = stringOf(text, given);
  const isJson = string !== undefined && rootOf(string) !== undefined;
  return { type: "call", name, json: isJson ? string : tokenOf(text, given) };
}

const flatKey = /^llm\.(?:input|output)_messages\.(\d+)\.message\.(.+)$/;
const flatCall = /^tool_calls\.(\d+)\.tool_call\.function\.(name|arguments)$/;

/** `llm.input_messages.0.message.role` and so on, as OpenInference writes attributes. */
function flattened(text: string, members: Members): Message[] | undefined {
  const messages: Message[] = [];
  const calls = new Map<string, Extract<Part, { type: "call" }>>();
  for (const [key, value] of members) {
    const [, at, name = ""] = flatKey.exec(key) ?? [];
    if (at === undefined || Number(at) > maxMessages) continue;
    const message = messages[Number(at)] ?? { role: "", parts: [] };
    messages[Number(at)] = message;
    const string = stringOf(text, value);
    const [, callAt, member] = flatCall.exec(name) ?? [];
    if (name === "role") message.role = string ?? "";
    else if (callAt !== undefined) {
      const id = `${at}.${callAt}`;
      const call = calls.get(id) ?? { type: "call", name: "", json: "{}" };
      if (!calls.has(id)) message.parts.push(call);
      calls.set(id, call);
      if (member === "name") call.name = string ?? "";
      else call.json = string ?? tokenOf(text, value);
    } else if (string !== undefined && /(^|\.)(content|text)$/.test(name))
      message.parts.push({ type: "text", text: string });
  }
  const found = messages.filter(Boolean);
  return found.length > 0 ? found : undefined;
}
