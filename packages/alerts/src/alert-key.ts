/** Names an alert: the primary key of the table `alert`, and the payload of the job that sends its mail. */
export interface AlertKey {
  accountId: string;
  alertId: string;
}
