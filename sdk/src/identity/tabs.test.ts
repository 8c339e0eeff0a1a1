import { describe, it } from "node:test";
import { createTabs } from "./tabs.ts";

describe("an announcement to other tabs", () => {
  it("does not fail a call whose change is stored after the client was closed", () => {
    const tabs = createTabs("scope", () => {});
    tabs.close();
    tabs.announce("state");
  });
});
