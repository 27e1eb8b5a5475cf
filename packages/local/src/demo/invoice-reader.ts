import type { Random } from "./random.js";
import { createDraft, type DemoTrace } from "./trace-draft.js";

const vendors = ["Nordlicht Strom", "Papier Weber", "Hosting & Co", "Café Anders", "Kurier Blitz"] as const;

const failures = [
  "Expected a number at total, got “1.284,50 EUR”",
  "The PDF is encrypted",
  "HTTP 409 from ledger.internal: period 2026-10 is closed",
] as const;

/**
 * A batch of invoices, four spans each.
 * @param ending the batch's end: all booked, stopped by an invoice, or ended by the time limit of a batch
 */
export function draftInvoiceReader(
  random: Random,
  { number, invoices, ending }: { number: number; invoices: number; ending: "success" | "error" | "timeout" },
): DemoTrace {
  const draft = createDraft(random);
  const root = draft.open("agent: invoice-reader", null, { batch: number, invoices });
  draft.step({ name: "tool: list_inbox", parent: root, ms: random.between(80, 300), output: { files: invoices } });
  draft.step({ name: "load booking rules", parent: root, ms: random.between(10, 40), output: { rules: 118 } });
  const stopsAt = ending === "success" ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(invoices * 0.6));
  let error: string | undefined;
  for (let n = 1; n <= invoices && error === undefined; n++) {
    const file = `invoice-${String(number * 1_000 + n).padStart(7, "0")}.pdf`;
    const invoice = draft.open(`read ${file}`, root, { file });
    draft.step({
      name: "tool: extract_text",
      parent: invoice,
      ms: random.between(20, 120),
      input: { file },
      output: { pages: 1, characters: Math.floor(random.between(600, 2_400)) },
    });
    const total = random.between(12, 900).toFixed(2);
    const vendor = random.pick(vendors);
    const reading = { name: "model call: gpt-4o-mini", parent: invoice, ms: random.between(350, 1_300) };
    const messages = [{ role: "user", content: `Read vendor, date and total of ${file} as JSON.` }];
    draft.step({
      ...reading,
      input: messages,
      output: { role: "assistant", content: `{"vendor":"${vendor}","total":${total}}` },
    });
    if (n === stopsAt) error = ending === "timeout" ? "The batch took longer than ten minutes" : random.pick(failures);
    if (ending === "timeout" && error) draft.wait(600_000);
    const booking = {
      name: "tool: book_entry",
      parent: invoice,
      ms: random.between(30, 140),
      input: { vendor, total },
    };
    draft.step(error === undefined ? { ...booking, output: { entry: 40_000 + n } } : { ...booking, error });
    draft.close(invoice, error === undefined ? { output: { vendor, total } } : { error });
  }
  if (error === undefined) {
    draft.step({ name: "tool: send_report", parent: root, ms: random.between(100, 250), output: { booked: invoices } });
  }
  draft.close(root, error === undefined ? { output: { booked: invoices } } : { error });
  return {
    agentId: "invoice-reader",
    name: `Book ${invoices} invoice${invoices === 1 ? "" : "s"} of batch ${number}`,
    status: ending,
    metadata: { batch: number, made_up: true },
    endMs: draft.now(),
    spans: draft.spans,
  };
}
