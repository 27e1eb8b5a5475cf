import { enqueueReport, lastPeriod, listAccountsToReport, reportPeriods } from "@waymark/alerts";
import type { JobDeps } from "../job-deps.js";
import { readReport } from "./read-report.js";

/** Makes the reports of the last week and month that are due, one account after the other; their channels deliver them. */
export function createSendReports({ pool, log, now, isStopping }: JobDeps): () => Promise<void> {
  return async () => {
    for (const period of reportPeriods) {
      const days = lastPeriod(period, now());
      for (const accountId of await listAccountsToReport(pool, { period, ...days })) {
        if (isStopping()) return;
        try {
          const report = await readReport(pool, { accountId, period, ...days });
          const mails = await enqueueReport(pool, { accountId, period, ...days }, report);
          log.info({ accountId, period, mails }, "a report is on its way");
        } catch (err) {
          log.error({ err, accountId, period }, "a report could not be made; the next round tries again");
        }
      }
    }
  };
}
