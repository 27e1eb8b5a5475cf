import type { Treatment } from "../load/receiver.js";
import { during, type Fault } from "./fault.js";

const treatments: readonly { treatment: Treatment; what: string; isShort?: true }[] = [
  { treatment: 429, what: "answer 429 with Retry-After" },
  { treatment: 500, what: "answer 500", isShort: true },
  { treatment: "hang", what: "accept connections and never answer" },
  { treatment: "take", what: "accept messages and break the connection without an answer", isShort: true },
];

export const receiverFaults: readonly Fault[] = treatments.map(({ treatment, what, ...rest }) => ({
  name: `receivers ${treatment}`,
  what: `the mail API and webhooks ${what}`,
  ...rest,
  run: (scene) => {
    const set = (each: Treatment) => {
      scene.receiver.mails = each;
      scene.receiver.webhooks = each;
    };
    return during(
      scene,
      () => set(treatment),
      () => set("accept"),
    );
  },
}));
