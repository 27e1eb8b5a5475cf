export { maxCharacters, type Present, textPart } from "./cut-answer.js";
export { mcpRoute } from "./mcp-route.js";
export type { McpTool } from "./tool.js";
