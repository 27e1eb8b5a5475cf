/** Notes the transaction of a status other than before, in an UPDATE of `trace t` by `c`; the stream reads it. */
export const setStatusTxidSql =
  "status_txid = CASE WHEN c.status <> t.status THEN txid_current() ELSE t.status_txid END";
