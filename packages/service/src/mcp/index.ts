export { mcpRoute } from "./mcp-route.js";
export type { AnswerCall, McpTool } from "./tool.js";
export { cleanJson, maxCharacters, textPart } from "./tool.js";
