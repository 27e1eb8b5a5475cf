/** Batching of slow transactions of one row: two connections, and one of them per account. */
export const oneAtATime = { maxRows: 1, maxInFlight: 2, maxInFlightPerOwner: 1 } as const;
