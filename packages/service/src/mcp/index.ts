export { mcpRoute } from "./mcp-route.js";
export { type McpTool, maxCharsParameter, type ToolRead, toolRead } from "./tool.js";
