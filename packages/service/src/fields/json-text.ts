import { z } from "zod";

/** A valid JSON value as its text: parsing would alter it (digits of large numbers, doubled and integer-like keys). */
export class JsonText {
  constructor(readonly text: string) {}
}

export function jsonField() {
  return z
    .custom<JsonText | null>((input) => input === null || input instanceof JsonText)
    .meta({ description: "Any JSON value; kept and given back exactly", "x-json": "any" });
}

export function jsonObjectField() {
  return z
    .custom<JsonText | null>((input) => input === null || (input instanceof JsonText && input.text.startsWith("{")), {
      message: "Must be a JSON object or null",
    })
    .meta({ description: "Any JSON object; kept and given back exactly", "x-json": "object" });
}
