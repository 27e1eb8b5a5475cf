import type { Billing, Usage } from "../../src/billing/billing.route.js";
import { lossesOnFree } from "./losses-on-free.js";

/** What a downgrade takes away, with numbers. */
export function Losses({ billing, usage }: { billing: Billing; usage: Usage }) {
  return (
    <div>
      <p>Back on Free, this account would lose:</p>
      <ul class="losses">
        {lossesOnFree(billing, usage).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  );
}
