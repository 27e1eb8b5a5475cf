/** Batching of slow transactions of one row: two connections, and one of them per account. */
export const oneAtATime = { maxRows: 1, maxInFlight: 2, maxInFlightPerOwner: 1 } as const;

/**
 * Batching of reads that take a tenth of a second: two connections, one of them per account. More than 200 would wait longer
 * than a client does.
 */
export const slowReads = { ...oneAtATime, maxWaitingRows: 200 } as const;
