import { describe, expect, it } from "@jest/globals";
import { readOptions } from "./options.js";
import { OptionsError } from "./settings.js";

describe("the options of start", () => {
  it("have defaults", () => {
    expect(readOptions([])).toEqual({
      isHelpWanted: false,
      isCheckWanted: false,
      isDemoWanted: undefined,
      areProcessesWanted: false,
      isWatchWanted: false,
      inspected: undefined,
    });
  });

  it("come from arguments, also after pnpm's --", () => {
    expect(readOptions(["--", "--no-demo"])).toMatchObject({ isDemoWanted: false });
    expect(readOptions(["--processes"])).toMatchObject({ areProcessesWanted: true });
    expect(readOptions(["--demo"])).toMatchObject({ isDemoWanted: true });
    const watched = { isWatchWanted: true, inspected: "collector" };
    expect(readOptions(["--inspect", "collector", "--watch"])).toMatchObject(watched);
    expect(() => readOptions(["--inspect", "browser"])).toThrow("--inspect takes one of: trace-api");
    expect(readOptions(["--help"]).isHelpWanted).toBe(true);
    expect(readOptions(["--running"]).isCheckWanted).toBe(true);
  });

  it.each([
    [["--demos"], /Unknown option '--demos'/],
    [["now"], /now/],
    [["--demo", "--no-demo"], /either/],
  ])("refuse %j", (args, message) => {
    expect(() => readOptions(args)).toThrow(OptionsError);
    expect(() => readOptions(args)).toThrow(message);
  });
});
