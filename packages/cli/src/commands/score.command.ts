import { InvalidArgumentError } from "commander";
import type { TopCommand } from "../context/command-builder.js";
import { addServiceOptions, onService } from "../context/service.js";
import { findTraceId } from "../traces/trace-id.js";

const help = `
Scores of one name stand side by side. A value is a number, true, false or a text.

Examples:
  $ waymark score add 0c07398f --name helpful --value true
  $ waymark score add 0c07398f --span 019c13f2-6c00-7cc3-98c4-dc0c5d1b22a0 --name accuracy --value 0.8 --comment "One date is wrong"`;

export function declareCommand(command: TopCommand): void {
  const score = command.group();
  addServiceOptions(score("add", "add feedback or an evaluation to a trace or one of its spans", help))
    .argument("<trace-id>", "the trace's id, or at least 4 characters of its end or beginning")
    .required("--name <name>", "what the score is about")
    .required("--value <value>", "a number, true, false or a text", { parse: scoreValue })
    .option("--comment <text>", "why")
    .option("--span <span-id>", "the whole id of the span to score")
    .run((context, text, { name, value, comment, span, ...options }) =>
      onService(context, options, async ({ api, call }) => {
        const id = encodeURIComponent(await findTraceId(api, text));
        const path = `/traces/${id}${span === undefined ? "" : `/spans/${encodeURIComponent(span)}`}/scores`;
        const body = JSON.stringify({ name, value, ...(comment !== undefined && { comment }) });
        const idempotencyKey = crypto.randomUUID();
        const answer = await call<{ score_id: string }>({ method: "POST", path, body, idempotencyKey });
        return { value: answer.value, text: `Added the score ${answer.body.score_id}.` };
      }),
    );
}

function scoreValue(text: string): number | boolean | string {
  if (text === "") throw new InvalidArgumentError("It must be a number, true, false or a text.");
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
}
