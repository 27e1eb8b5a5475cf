import { type DemoTrace, draftTrace } from "./draft-trace.js";
import type { Random } from "./random.js";

interface Ticket {
  subject: string;
  question: string;
  document: string;
  answer: string;
}

const tickets: readonly Ticket[] = [
  {
    subject: "where is my order",
    question: "I ordered two lamps nine days ago and the page still says “packed”. Where is my order?",
    document:
      "Orders leave the warehouse within two working days. “Packed” means the carrier has not scanned the parcel.",
    answer:
      "Your parcel left our warehouse on Monday and waits for the carrier's first scan. It should reach you by Friday.",
  },
  {
    subject: "refund for a double charge",
    question: "My card was charged twice for the same order. Please return one of the payments.",
    document:
      "A second charge within a minute is a retry of the payment form. It is returned in full, in three to five days.",
    answer:
      "You are right, the second charge was a retry. I have returned it; your bank shows it in three to five days.",
  },
  {
    subject: "invoice with another address",
    question: "Could you issue the invoice again, with our company's address and VAT number?",
    document: "Invoices of the last 90 days can be issued again with another address. The number stays.",
    answer: "Here is the new invoice with your company's address. Its number is unchanged.",
  },
  {
    subject: "return after 30 days",
    question: "The chair wobbles. I have had it for 34 days, is it too late to return it?",
    document: "Returns close after 30 days. Faults are covered for two years: offer a repair or a spare part first.",
    answer: "A return is no longer possible, but the chair is under warranty. I have ordered a new leg for you.",
  },
  {
    subject: "delivery to a pick-up point",
    question: "Can you send it to a pick-up point instead of my home? I am away next week.",
    document: "The address of an order can change until it is packed. Pick-up points keep parcels for ten days.",
    answer: "Done: it goes to the pick-up point in Station Road, and they keep it for ten days.",
  },
  {
    subject: "discount code does not work",
    question: "WELCOME10 says “not valid for these items”. There is only a rug in my basket.",
    document: "WELCOME10 excludes items on sale. Support may grant the code once per customer.",
    answer: "The rug is on sale, so the code is refused. I have taken ten percent off this order as a gift.",
  },
];

const system =
  "You answer customers of a furniture shop. Use the tools before you answer. Be brief and polite; never promise a date you did not read in the order.";

/** A failure: the tool or model that breaks, and its error. */
const failures = [
  ["tool: get_order", "GET https://orders.internal/v2/orders: connect ETIMEDOUT 10.0.0.7:443"],
  ["tool: get_order", "HTTP 503 from orders.internal: upstream request timeout"],
  ["model call: gpt-4o", "429 rate_limit_exceeded: Limit 30000 tokens per minute, used 29412, requested 2210"],
  ["tool: search_help_center", 'relation "documents_v3" does not exist'],
  ["model call: gpt-4o", "400 context_length_exceeded: 131072 tokens at most, the messages have 138204"],
] as const;

/** A conversation with search, a look into the order and, sometimes, a retry after a refusal of the model. */
export function draftSupportBot(
  random: Random,
  { number, ending }: { number: number; ending: "success" | "error" | "running" },
): DemoTrace {
  const ticket = random.pick(tickets);
  const [broken, failure] = ending === "error" ? random.pick(failures) : [];
  const errorOf = (name: string) => (name === broken ? { error: failure } : {});
  const order = 60_000 + Math.floor(random.between(0, 9_000));
  const input = conversation(ticket, order);
  const about = {
    agentId: "support-bot",
    name: `Answer ticket ${number}: ${ticket.subject}`,
    status: ending,
    metadata: { ticket: number, release: "2026.11.2", made_up: true },
    input: { ticket: number, channel: random.pick(["mail", "chat"]) },
  };
  return draftTrace(random, about, (draft) => {
    const step = (name: string, ms: readonly [number, number], input: unknown, output: unknown) =>
      draft.step(name, ms, { input, output, ...errorOf(name) });
    const confidence = Math.round(random.between(80, 99)) / 100;
    step("classify ticket", [280, 700], ticket.question, { topic: ticket.subject, language: "en", confidence });
    const found = [{ title: ticket.subject, text: ticket.document, score: 0.87 }];
    step("tool: search_help_center", [60, 240], { query: ticket.subject, limit: 3 }, found);
    const state = random.pick(["packed", "sent", "delivered"]);
    step("tool: get_order", [40, 190], { order }, { order, state, total: "129.90", currency: "EUR", items: 2 });
    // Beside a failure it would look like the cause.
    if (random.next() < 0.2 && !failure) {
      const refusal = { input, error: "529 overloaded: try again later", isRetried: true };
      draft.step("model call: gpt-4o", [600, 1_200], refusal);
      draft.wait(2_000);
    }
    if (ending === "running") return draft.open("model call: gpt-4o", input);
    step("model call: gpt-4o", [1_400, 6_200], input, { role: "assistant", content: ticket.answer });
    step("tool: send_reply", [90, 300], { text: ticket.answer }, { sent: true });
    return { reply: ticket.answer };
  });
}

function conversation({ question, document }: Ticket, order: number) {
  return [
    { role: "system", content: system },
    { role: "user", content: question },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "get_order", arguments: JSON.stringify({ order }) } },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: `{"order":${order},"total":129.90}` },
    { role: "tool", name: "search_help_center", content: document },
  ];
}
