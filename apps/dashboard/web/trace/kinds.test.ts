import { describe, expect, it } from "@jest/globals";
import { kindOf } from "./kinds.js";

describe("kindOf", () => {
  it.each([
    ["chat|||", "x", "model"],
    ["execute_tool|||", "chat", "tool"],
    ["|LLM||", "x", "model"],
    ["|RETRIEVER||", "x", "tool"],
    ["||workflow|", "x", "agent"],
    ["||task|", "chat", "step"],
    ["|||ai.generateText.doGenerate", "x", "model"],
    ["|||ai.generateText", "x", "agent"],
    ["|||ai.toolCall", "x", "tool"],
    ["unknown|||", "tool: edit", "tool"],
  ])("takes the attributes %s before the name", (hint, name, kind) => {
    expect(kindOf(hint, name)).toBe(kind);
  });

  // Names of recorded traces: tau-bench, SWE-agent, OpenHands and the frameworks of Langfuse's tests.
  it.each([
    ["model call: gpt-4o", "model"],
    ["tool: transfer_to_human_agents", "tool"],
    ["tool: think", "tool"],
    ["model response", "model"],
    ["user: message", "step"],
    ["agent: message", "agent"],
    ["chat gpt-4o-mini", "model"],
    ["OpenAIChat.invoke", "model"],
    ["ChatOpenAI", "model"],
    ["llm.chat", "model"],
    ["GenerateContent", "model"],
    ["generate_content", "model"],
    ["backend.openai.chat.start-14", "model"],
    ["node.nodeCallLLM", "model"],
    ["node.nodeExecuteTool", "tool"],
    ["tool.search.wikipedia.start-12", "tool"],
    ["tool.ByeTool", "tool"],
    ["duckduckgo_search", "tool"],
    ["Web-Search", "tool"],
    ["get_weather", "tool"],
    ["execute_tool get_weather", "tool"],
    ["agent.react.start-4", "agent"],
    ["agent: Data Router Agent", "agent"],
    ["Crew.kickoff", "agent"],
    ["LangGraph", "agent"],
    ["invoke_agent 99981f6a", "agent"],
    ["qa_agent run", "agent"],
    ["handoff", "agent"],
    ["iteration-1", "step"],
    ["Task._execute_core", "step"],
    ["should_continue", "step"],
    ["Hello world", "step"],
  ])("knows %s by its words", (name, kind) => {
    expect(kindOf("", name)).toBe(kind);
  });
});
