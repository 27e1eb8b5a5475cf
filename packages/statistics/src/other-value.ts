/** The value under which the rollups keep a day's tail when it has more values than a list holds. */
export const foldedValue = "(other)";

/** What a reader of a list must know of its last row. */
export const foldedNote = `Where a day had more values than are kept, the rest stands as \`${foldedValue}\` at the end of its list: unranked, beside the \`limit\`. What is listed above it may then lack the days on which it was part of that rest.`;
