import { colorOf, type Kind } from "./kinds.js";

const drawings: Readonly<Record<Kind | "failed", string>> = {
  model: "M8 1.5 9.6 6.4 14.5 8 9.6 9.6 8 14.5 6.4 9.6 1.5 8 6.4 6.4Z",
  tool: "M13.6 4.4 11 7 9 5l2.6-2.6a3.9 3.9 0 0 0-5.1 5L2 11.9 4.1 14l4.5-4.5a3.9 3.9 0 0 0 5-5.1Z",
  agent: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-5.5 6.5a5.5 5.5 0 0 1 11 0Z",
  retrieval: "M7 2a5 5 0 1 0 3 9l3.5 3.5 1-1L11 10a5 5 0 0 0-4-8Zm0 1.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7Z",
  evaluation: "M13.6 3.4 6.5 12.3 2.4 8.6l1-1.2 2.9 2.6 6-7.6Z",
  chain: "M2 3h5v4H2zM9 9h5v4H9zM4 8h1.2v2.4H8v1.2H4z",
  other: "M3 4.5h10v7H3z",
  failed: "M8 2 14.5 13.5h-13L8 2ZM8 6.5v3M8 11.5v.01",
};

export function KindIcon({ kind, isFailed }: { kind: Kind; isFailed: boolean }) {
  return (
    <svg
      class={isFailed ? "kind-icon is-failed" : "kind-icon"}
      style={colorOf(kind)}
      width="14"
      height="14"
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={drawings[isFailed ? "failed" : kind]} />
    </svg>
  );
}
