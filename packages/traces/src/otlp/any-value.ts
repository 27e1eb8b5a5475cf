import type { AnyValue, KeyValue } from "./request.js";

/** A value as JSON text: bytes in base64, NaN and infinities as strings, no value as `null`. */
export function jsonOfValue(value: AnyValue | null | undefined): string {
  switch (value?.value) {
    case "stringValue":
      return JSON.stringify(value.stringValue);
    case "boolValue":
      return value.boolValue ? "true" : "false";
    case "intValue":
      return value.intValue.toString();
    case "doubleValue":
      return jsonOfDouble(value.doubleValue);
    case "arrayValue":
      return `[${value.arrayValue.values.map(jsonOfValue).join(",")}]`;
    case "kvlistValue":
      return jsonOfAttributes(value.kvlistValue.values);
    case "bytesValue":
      return `"${Buffer.from(value.bytesValue).toString("base64")}"`;
    default:
      return "null";
  }
}

export function jsonOfAttributes(attributes: readonly KeyValue[]): string {
  let members = "";
  for (const { key, value } of attributes) {
    members += `${members === "" ? "" : ","}${JSON.stringify(key)}:${jsonOfValue(value)}`;
  }
  return `{${members}}`;
}

function jsonOfDouble(double: number): string {
  if (Object.is(double, -0)) return "-0.0";
  return Number.isFinite(double) ? String(double) : `"${double}"`;
}

export function textOfValue(value: AnyValue | null | undefined): string | undefined {
  return value?.value === "stringValue" ? value.stringValue : undefined;
}
