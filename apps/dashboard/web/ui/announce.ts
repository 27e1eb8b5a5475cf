import { signal } from "@preact/signals";

export const announced = signal("");

/** Has screen readers say a change when they are idle, such as "2 new traces, 1 failed". */
export function announce(text: string): void {
  announced.value = announced.value === text ? `${text}\u00a0` : text;
}
