import { otherValue } from "@waymark/lists";

/** What a reader of a list must know of its last row. */
export const foldedNote = `Where a day had more values than are kept, the rest stands as \`${otherValue}\` at the end of its list: unranked, beside the \`limit\`. What is listed above it may then lack the days on which it was part of that rest.`;
