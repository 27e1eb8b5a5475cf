import type { ComponentChildren } from "preact";
import type { ListedFailure } from "../../src/failures/failures.route.js";
import { MonoLink } from "../ui/usage.js";

interface FailureTextProps {
  of: Pick<ListedFailure, "id" | "error" | "span_name">;
  children?: ComponentChildren;
}

export function FailureText({ of: { id, error, span_name }, children }: FailureTextProps) {
  return (
    <>
      <MonoLink href={`/dashboard/failures/${id}`} text={error ?? "No error text"} />
      <span class="hint">
        {span_name === null ? "no failing span" : `in ${span_name}`}
        {children}
      </span>
    </>
  );
}
