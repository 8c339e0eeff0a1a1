import assert from "node:assert/strict";
import { it } from "node:test";
import { compareVersions } from "./app-versions.ts";

// spec/devices#crash-states
it("versions are compared by their numbers, and versions without numbers are not comparable", () => {
  const ascending = ["0", "0.9", "1.2.3", "1.2.10", "v1.10 (4)", "1.10 (12)", `2.${"9".repeat(200)}`, "3"];
  for (const [index, version] of ascending.entries()) {
    assert.equal(compareVersions(version, version), 0);
    for (const later of ascending.slice(index + 1)) {
      assert.equal(compareVersions(version, later), -1, `${version} ${later}`);
      assert.equal(compareVersions(later, version), 1, `${later} ${version}`);
    }
  }
  assert.equal(compareVersions("2", "Release 2.0.0"), 0);
  for (const version of ["", "beta", "😀"]) assert.equal(compareVersions(version, "1"), undefined);
});
