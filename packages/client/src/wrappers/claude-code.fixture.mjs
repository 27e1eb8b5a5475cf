// Stands for Claude Code, whose program takes 200 MB: it answers the SDK's requests and plays one session. After `--cut`
// messages it ends without a result.
import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const usage = { input_tokens: 10, cache_read_input_tokens: 3, cache_creation_input_tokens: 2, output_tokens: 1 };
const answer = (id, content, parent = null, stop_reason = null) => ({
  type: "assistant",
  parent_tool_use_id: parent,
  message: { id, type: "message", role: "assistant", model: "claude-x", content, stop_reason, usage },
});
const asked = (tool_use_id, content, parent = null, is_error = false) => ({
  type: "user",
  parent_tool_use_id: parent,
  message: { role: "user", content: [{ type: "tool_result", tool_use_id, content, is_error }] },
});
const messages = [
  { type: "system", subtype: "init", tools: ["Task", "get_order"], model: "claude-x", cwd: "/", mcp_servers: [] },
  answer("m1", [{ type: "text", text: "I ask." }]),
  answer("m1", [{ type: "tool_use", id: "t1", name: "Task", input: { prompt: "Find 7" } }], null, "tool_use"),
  answer("m2", [{ type: "tool_use", id: "t2", name: "get_order", input: { id: 7 } }], "t1", "tool_use"),
  asked("t2", "no such order", "t1", true),
  answer("m3", [{ type: "text", text: "Nothing." }], "t1", "end_turn"),
  asked("t1", "Nothing."),
  answer("m4", [{ type: "text", text: "Refunded." }], null, "end_turn"),
  {
    type: "result",
    subtype: "success",
    is_error: false,
    result: "Refunded.",
    num_turns: 2,
    duration_ms: 5,
    duration_api_ms: 4,
    total_cost_usd: 0.02,
    usage: { ...usage, output_tokens: 9 },
    modelUsage: { "claude-x": { costUSD: 0.02 } },
    permission_denials: [],
  },
].map((message, n) => ({ ...message, session_id: "s1", uuid: `00000000-0000-4000-8000-00000000000${n}` }));

let hasBegun = false;
function play() {
  if (hasBegun) return;
  hasBegun = true;
  const cut = Number(process.argv[process.argv.indexOf("--cut") + 1]);
  for (const message of messages.slice(0, cut)) say(message);
  if (cut < messages.length) process.stdout.write("", () => process.exit(3));
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { type, request_id } = JSON.parse(line);
    if (type === "control_request")
      say({
        type: "control_response",
        response: { subtype: "success", request_id, response: { commands: [], models: [] } },
      });
    if (type === "user") play();
  })
  .on("close", () => process.exit(0));
