import type { Filter } from "../ui/filter-chips.tsx";

/** The tag of devices and users that the explorer has created to try calls; there are at most twenty of each. */
export const testTag = "console-test";

/** The filter that shows test callers, which lists hide by default. */
export const testCallersFilter: Filter = {
  name: "testCallers",
  label: "Test callers of the explorer",
  options: [{ value: "shown", label: "shown" }],
};
