import type { Route } from "@waymark/service/http";
import type { AnswerCall, McpTool } from "@waymark/service/mcp";

interface ToolRoutes {
  listTraces: Route;
  getTrace: Route;
  listAgents: Route;
  listFailures: Route;
  getUsage: Route;
  readModelUsage: Route;
}

/** The tools of the trace API. */
export function traceTools(routes: ToolRoutes, answerTrace: AnswerCall): McpTool[] {
  const { listTraces, getTrace, listAgents, listFailures, getUsage, readModelUsage } = routes;
  return [
    {
      name: "list_traces",
      description: "Find traces of AI agents, newest first. A trace is one task of an agent. `next_cursor` goes on.",
      route: listTraces,
    },
    {
      name: "get_trace",
      description:
        "Read a trace with its spans: the agent's steps with inputs, outputs and errors. A long trace is cut: call again with the `span_id`, and the `next_cursor` as `cursor`, at the end of the answer.",
      route: getTrace,
      further: {
        arguments: {
          span_id: "Begins with this span; the `span_id` of an answer that was cut",
          cursor: "The `next_cursor` of an answer with a part of a span",
        },
        answer: answerTrace,
      },
    },
    { name: "list_agents", description: "List agents, with counts of their traces by status.", route: listAgents },
    {
      name: "list_failures",
      description: "List what went wrong in failed traces, most frequent first, with an example trace each.",
      route: listFailures,
    },
    {
      name: "get_usage",
      description:
        "Read the plan's limits and their use this month, and the tokens and cost of each model and day in a range.",
      route: readModelUsage,
      before: getUsage,
    },
  ];
}
