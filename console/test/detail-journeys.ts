import assert from "node:assert/strict";
import { registerDevice } from "./jobs/steps.ts";
import { type Checks, connect, openSignedIn, type Setup, send } from "./suite.ts";

async function createApplication({ server }: Setup, name: string) {
  const call = await connect(server);
  const { result: application } = await call("POST", "/applications", { name });
  const open = (screen: string) => `${server.url}/_/console/#/apps/${application.appid}/${screen}`;
  return { call, application, open };
}

/** Details of screens that operators stumble over. */
export const detailJourneys: Checks = {
  async "an address that names nothing says so, and leads on; values are written as they are"(setup) {
    const { server } = setup;
    const { open } = await createApplication(setup, "Addresses");
    const page = await openSignedIn(setup);
    for (const [address, title] of [
      ["#/nothing", "No such page"],
      ["#/apps/app_xxx/users", "No such application"],
      ["#/apps/app_0mwwseg7p0000iuwce3ixulqc0/overview", "No such application"],
    ] as const) {
      await page.goto(`${server.url}/_/console/${address}`);
      await page.getByRole("heading", { name: title }).waitFor();
      await page.getByRole("link", { name: "All applications" }).click();
      await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
    }
    await page.goto(open("settings?part=nothing"));
    await page.getByText("This screen ignores a part of the address: part.").waitFor();
    await page.goto(open("overview?range=9y"));
    await page.getByText("This screen ignores a part of the address: range.").waitFor();
    await page.goto(open("audit"));
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("menuitem", { name: "Changes by operators" }).click();
    const created = page.getByRole("row").filter({ has: page.getByText("Create application", { exact: true }) }); // not its keys
    await created.waitFor();
    assert.match(page.url(), /refused=false/);
    await page.goto(
      `${server.url}/_/console/#/audit?actorKind=operator&refused=%22false%22&exceptAction=createApplication`,
    );
    await page.getByRole("row").filter({ hasText: "Create operator session" }).first().waitFor();
    assert.equal(await created.count(), 0);
    await page.goto(open("users?q=00123456789012345678901234567890"));
    await page.getByText("Nothing matches this filter").waitFor();
    assert.equal(await page.getByPlaceholder("Name, e-mail").inputValue(), "00123456789012345678901234567890");
  },

  async "keys lead from the heading into a list, and open the actions of a page"(setup) {
    const { call, application, open } = await createApplication(setup, "Keys of lists");
    const users = `/applications/${application.appid}/users`;
    await call("POST", users, { username: "first", password: "correct horse" });
    await call("POST", users, { username: "second", password: "correct horse" });
    const page = await openSignedIn(setup);
    await page.goto(open("users"));
    await page.getByRole("row").filter({ hasText: "second" }).waitFor();
    await page.locator("h1").focus();
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-rowindex") === "2");
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-rowindex") === "3");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "first" }).waitFor();
    await page.keyboard.press(".");
    await page.getByRole("menuitem", { name: "Erase" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "detached" });
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.keyboard.press("?");
    const close = page.getByRole("dialog").getByRole("button", { name: "Close" });
    await close.waitFor();
    const box = await close.boundingBox();
    assert.ok(box !== null && box.y + box.height <= 900, "the whole sheet is in sight");
    await close.click();
  },

  async "test callers are left out of lists unless a filter shows them"(setup) {
    const { call, application, open } = await createApplication(setup, "Tried here");
    await call("POST", `/applications/${application.appid}/test-users`, {});
    await call("POST", `/applications/${application.appid}/users`, { username: "genuine", password: "correct horse" });
    const page = await openSignedIn(setup);
    await page.goto(open("users"));
    await page.getByRole("row").filter({ hasText: "genuine" }).waitFor();
    assert.equal(await page.getByRole("row").filter({ hasText: "console-test" }).count(), 0);
    await page.goto(open("users?testCallers=shown"));
    await page.getByRole("row").filter({ hasText: "console-test" }).waitFor();
    await page.goto(open("devices"));
    await page.getByText("No device has registered yet").waitFor();
    await page.goto(open("devices?testCallers=shown"));
    await page.locator("[data-index='0']").waitFor();
  },

  async "a shared secret can be removed only where there is one, and a password for a new user is made"(setup) {
    const { open } = await createApplication(setup, "Without a secret");
    const page = await openSignedIn(setup);
    await page.goto(open("keys"));
    await page.locator("[data-index='0']").waitFor();
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Set a shared secret" }).waitFor();
    assert.equal(await page.getByRole("menuitem", { name: "Remove the shared secret" }).count(), 0);
    await page.keyboard.press("Escape");
    await page.goto(open("users"));
    await page.getByRole("button", { name: "Add a user" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("User name").fill("made.for");
    await dialog.getByRole("button", { name: "Make one" }).click();
    assert.match(await dialog.getByLabel("Password").inputValue(), /^([a-z2-9]{5}-){3}[a-z2-9]{5}$/);
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "made.for" }).waitFor();
  },

  async "on a phone, errors come before charts, and rows have what decides"(setup) {
    const { server } = setup;
    const { application, open } = await createApplication(setup, "On a phone");
    const headers = await registerDevice(server.url, application);
    await send(`${server.url}/devices/current/crashreports`, "POST", { stackTrace: "Error: late" }, headers);
    const page = await setup.openSession({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await page.goto(open("overview"));
    const topOf = async (name: string) =>
      (await page.getByRole("heading", { name, exact: true }).boundingBox())?.y ?? 0;
    await page.getByRole("heading", { name: "Top errors" }).waitFor();
    assert.ok((await topOf("Top errors")) < (await topOf("Calls")));
    await page.goto(open("crashes"));
    await page.getByRole("row").filter({ hasText: "Error: late" }).getByText("1 report · 1 device").waitFor();
    await page.goto(`${server.url}/_/console/#/audit`);
    await page.locator("[data-index='0']").getByText("just now").waitFor();
  },

  async "a print has the page without its frame"(setup) {
    const { open } = await createApplication(setup, "Printed");
    const page = await openSignedIn(setup);
    await page.goto(open("keys"));
    await page.locator("[data-index='0']").waitFor();
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.getByRole("button", { name: "Find anything" }).isVisible(), false);
    assert.equal(await page.getByRole("heading", { level: 1, name: "Keys" }).isVisible(), true);
    await page.emulateMedia({ media: null });
  },
};
