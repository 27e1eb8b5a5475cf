export { cleanJson } from "./clean-text.js";
export { maxCharacters, textPart } from "./cut-answer.js";
export { mcpRoute } from "./mcp-route.js";
export type { AnswerCall, McpTool } from "./tool.js";
