import { describe, expect, it } from "@jest/globals";
import { openCountryDirectory } from "./country-directory.js";

describe("openCountryDirectory", () => {
  it("knows the countries of both kinds of addresses, and of nothing else", async () => {
    const { countryOf } = await openCountryDirectory(undefined);
    expect(["8.8.8.8", "81.2.69.142", "193.0.6.139", "2a02:8108::1"].map(countryOf)).toEqual(["US", "GB", "NL", "DE"]);
    expect(["127.0.0.1", "10.0.0.1", "::1", "", "8.8.8", "nonsense"].map(countryOf)).toEqual([
      null,
      null,
      null,
      null,
      null,
      null,
    ]);
  });

  it("refuses a file that is no database", async () => {
    await expect(openCountryDirectory(new URL(import.meta.url).pathname)).rejects.toThrow();
  });
});
