import { AppError } from "@waymark/errors";
import { maxCharacters, type Present, textPart } from "@waymark/service/mcp";
import { splitTrace, type TracePiece } from "./split-trace.js";

/** Room for the end of a cut answer: the id to go on with. */
const endCharacters = 100;

/**
 * A trace as far as it fits, beginning with `span_id` if given. A cut answer ends with the `span_id` to go on with. A span too
 * long for one answer comes alone, in parts of its JSON, with `next_cursor` for the next part; metadata likewise.
 */
export const presentTrace: Present = async (read, { span_id: from, cursor }) => {
  const body = await read();
  const pieces = splitTrace(typeof body === "string" ? [body] : body);
  const whole = (await take(pieces)).json;
  const isLong = whole.length > maxCharacters / 2;
  if (from === undefined && (isLong || cursor !== undefined)) {
    return partOf({ kind: "head", json: `${whole}]}` }, cursor, pieces);
  }
  const head = isLong ? `{"id":"${idOf(whole)}","spans":[` : whole;
  let text = head;
  let isBegun = from === undefined;
  for (let piece = await take(pieces); ; piece = await take(pieces)) {
    if (piece.kind === "tail") {
      if (!isBegun) throw new AppError("span_not_found");
      return text + (text.length + piece.json.length > maxCharacters ? "]}" : piece.json);
    }
    isBegun ||= idOf(piece.json) === from;
    if (!isBegun) continue;
    const isFirst = text === head;
    const isTooLong = text.length + piece.json.length + endCharacters > maxCharacters;
    if (cursor !== undefined || (isTooLong && isFirst && from !== undefined)) return partOf(piece, cursor, pieces);
    if (isTooLong) {
      await pieces.return(undefined);
      return `${text}],"span_id":"${idOf(piece.json)}"}`;
    }
    text += (isFirst ? "" : ",") + piece.json;
  }
};

type Pieces = ReturnType<typeof splitTrace>;

async function take(pieces: Pieces): Promise<TracePiece> {
  const next = await pieces.next();
  return next.done ? { kind: "tail", json: "" } : next.value;
}

/** A part of one piece, with the arguments to go on with: further parts of it, or the next span. */
async function partOf({ kind, json }: TracePiece, cursor: string | undefined, pieces: Pieces): Promise<string> {
  const part = textPart(json, cursor);
  const following = await take(pieces);
  await pieces.return(undefined);
  const own = kind === "span" ? idOf(json) : null;
  const next = following.kind === "span" ? idOf(following.json) : null;
  return JSON.stringify({ id: idOf(json), ...part, span_id: part.next_cursor === null ? next : own });
}

/** Traces and spans begin with their ids. */
function idOf(json: string): string {
  return /^\{"id":"([^"]*)"/.exec(json)?.[1] ?? "";
}
