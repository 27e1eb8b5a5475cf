/** The primary key of the table `alert`, and the payload of the job for its mail. */
export interface AlertKey {
  accountId: string;
  alertId: string;
}
