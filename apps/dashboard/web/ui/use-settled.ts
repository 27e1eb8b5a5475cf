import { useEffect, useState } from "preact/hooks";

/** Keys held down pass spans by without asking for each. */
const spanMs = 90;

/** A value once it has stayed a moment. */
export function useSettled<Value>(value: Value, settleMs = spanMs): Value {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), settleMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
