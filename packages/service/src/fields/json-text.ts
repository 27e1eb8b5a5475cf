import { z } from "zod";

/**
 * A JSON value as its original text: valid JSON without white space around it. Waymark stores and returns opaque JSON as
 * this text. Parsing and writing it again would alter it: large numbers lose digits, doubled keys vanish, integer-like keys
 * move.
 */
export class JsonText {
  constructor(readonly text: string) {}
}

/** Any JSON value, kept as text; JSON `null` becomes null. */
export function jsonField() {
  return z
    .custom<JsonText | null>((input) => input === null || input instanceof JsonText)
    .meta({ description: "Any JSON value; kept and given back exactly", "x-json": "any" });
}

/** A JSON object, kept as text; JSON `null` becomes null. */
export function jsonObjectField() {
  return z
    .custom<JsonText | null>((input) => input === null || (input instanceof JsonText && input.text.startsWith("{")), {
      message: "Must be a JSON object or null",
    })
    .meta({ description: "Any JSON object; kept and given back exactly", "x-json": "object" });
}
