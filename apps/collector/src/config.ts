import { httpConfig, httpVariables, integerVariable, portVariable, readEnv } from "@waymark/service";
import { trustedProxiesVariable } from "@waymark/service/limits";
import { z } from "zod";

export function loadConfig(env: NodeJS.ProcessEnv) {
  const read = readEnv(env, {
    ...httpVariables,
    COLLECTOR_PORT: portVariable(4300),
    COLLECTOR_METRICS_PORT: portVariable(4301),
    TRUSTED_PROXIES: trustedProxiesVariable(),
    COUNTRY_DATABASE: z.string().optional(),
    COUNTRY_HEADER: z
      .string()
      .regex(/^[\w-]+$/, "must be the name of a header")
      .optional(),
    REFERRER_SPAM_LIST: z.string().optional(),
    COLLECTOR_RATE_LIMIT_PER_ADDRESS: integerVariable({ min: 0, max: 1_000_000 }).default(50),
  });
  return {
    ...httpConfig(read, "COLLECTOR", env),
    trustedProxies: read.TRUSTED_PROXIES,
    countryDatabase: read.COUNTRY_DATABASE,
    countryHeader: read.COUNTRY_HEADER,
    referrerSpamList: read.REFERRER_SPAM_LIST,
    eventsPerSecond: {
      perAddress: read.COLLECTOR_RATE_LIMIT_PER_ADDRESS,
      // A busy site has many visitors per address.
      perSite: 10 * read.COLLECTOR_RATE_LIMIT_PER_ADDRESS,
    },
  };
}
