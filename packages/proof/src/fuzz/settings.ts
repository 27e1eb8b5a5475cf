/** Limits of a client's rate would refuse most requests of one machine. */
export const fuzzSettings = {
  TRACE_RATE_LIMIT_PER_SECOND: "0",
  COLLECTOR_RATE_LIMIT_PER_ADDRESS: "0",
  COLLECTOR_RATE_LIMIT_PER_SITE: "0",
  TRUSTED_PROXIES: "loopback",
};
