import assert from "node:assert/strict";
import { registerDevice } from "./jobs/steps.ts";
import { type Checks, connect, openSignedIn, send } from "./suite.ts";

const usersMax = 30;

/** The database makes no difference to it. */
export const listJourney: Checks = {
  async "an operator who goes back from the page of a row finds the row where it was, with the focus"(setup) {
    const { server } = setup;
    const { result: application } = await (await connect(server))("POST", "/applications", { name: "Back" });
    const { appid } = application;
    const device = await registerDevice(server.url, application);
    for (let index = 0; index < usersMax; index += 1) {
      const account = { username: `user ${index}`, password: "correct horse" };
      await send(`${server.url}/users`, "POST", account, device);
    }
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/users`);
    await page
      .locator("[data-index='0']")
      .getByText(`user ${usersMax - 1}`)
      .waitFor();
    await page.locator("[data-index='0']").focus();
    await page.keyboard.press("End");
    const row = page.getByRole("row").filter({ has: page.getByText("user 0", { exact: true }) });
    await page.waitForFunction(() => document.activeElement?.textContent?.includes("user 0"));
    const place = await row.boundingBox();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "user 0" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
    await page.waitForFunction(() => document.activeElement?.textContent?.includes("user 0"));
    assert.deepEqual(await row.boundingBox(), place);

    await page.goto(`${server.url}/_/console/#/apps/${appid}/devices`);
    await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
  },

  async "filters typed in one line apply together, and the panel of a device shows its users"(setup) {
    const { server } = setup;
    const { result: application } = await (await connect(server))("POST", "/applications", { name: "Filters" });
    const { appid, appkey } = application;
    for (const tag of ["my beta", "other"]) {
      const facts = { appid, appkey, platform: "iOS", model: `Phone of ${tag}`, tag };
      const { result } = await send(`${server.url}/devices`, "POST", facts);
      const headers = { Authorization: `Service ${result.accessToken}` };
      await send(`${server.url}/users`, "POST", { username: `user of ${tag}`, password: "correct horse" }, headers);
    }
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/devices`);
    const rows = page.locator("[data-index]");
    await rows.getByText("Phone of other").waitFor();
    await page.keyboard.press("/");
    await page.waitForFunction(() => document.activeElement?.tagName === "INPUT");
    await page.keyboard.type("platf");
    const box = page.getByPlaceholder("Exact unique id, or id");
    assert.deepEqual(await box.evaluate(completions), ["platform:"]);
    await box.fill("platform:iOS tag:my beta");
    await page.keyboard.press("Enter");
    await page.getByText("Tag: my beta", { exact: true }).waitFor();
    await page.getByText("Platform: iOS").waitFor();
    await rows.nth(1).waitFor({ state: "detached" });
    assert.equal(await box.inputValue(), "");

    await box.fill("platform:Android");
    await page.keyboard.press("Enter");
    await page.getByText("Nothing matches these filters").waitFor();
    await page.getByRole("button", { name: "Without Platform: Android" }).click();
    await page.getByText("Platform: Android").waitFor({ state: "detached" });
    await page.getByText("Tag: my beta").waitFor();

    await rows.first().focus();
    await page.keyboard.press("Space");
    const panel = page.getByRole("complementary", { name: "Phone of my beta" });
    await panel.getByRole("link", { name: "user of my beta" }).click();
    await page.getByRole("heading", { level: 1, name: "user of my beta" }).waitFor();
    const life = page.getByText(/^Signed up .*, 1 device, last seen .*, signed in once/);
    await life.locator("time").first().focus();
    await page.getByRole("tooltip").getByText(String(new Date().getFullYear())).waitFor();
  },

  async "a key whose answer was lost may exist: the dialog says so, and the list shows it"(setup) {
    const { server } = setup;
    const { result: application } = await (await connect(server))("POST", "/applications", { name: "Lost" });
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/keys`);
    await page.route("**/keys", async (route) => {
      if (route.request().method() === "POST") await route.fetch();
      await (route.request().method() === "POST" ? route.abort() : route.continue());
    });
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Version 2");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("The key may exist all the same").waitFor();
    await page.unroute("**/keys");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("row").filter({ hasText: "Version 2" }).waitFor();
  },

  async "an entry of the audit log leads to its target, its actor and its call, from the list and from the panel"(
    setup,
  ) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Leads" });
    const { appid } = application;
    const { result: user } = await call("POST", `/applications/${appid}/users`, {
      username: "target",
      password: "correct horse",
    });
    const { request_id: requestId } = await call("POST", `/applications/${appid}/users/${user.id}/disable`);
    const page = await openSignedIn(setup);
    const panel = page.getByRole("complementary", { name: "Disable user" });
    const follow = async (name: string) => {
      await page.goto(`${server.url}/_/console/#/apps/${appid}/audit?action=disableUser`);
      await page.getByRole("row").filter({ hasText: "Disable user" }).first().click();
      const fact = panel.locator("dt").filter({ hasText: new RegExp(`^${name}$`) });
      await fact.locator("+ dd").getByRole("link", { name: "Open" }).click();
    };
    await follow("Target");
    await page.getByRole("heading", { level: 1, name: "target" }).waitFor();
    await page.goto(`${server.url}/_/console/#/audit?target=${user.id}`);
    await page.locator("[data-index='0']").focus();
    await page.keyboard.press("Tab");
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("href"));
    assert.match((await focused()) ?? "", /^#\/operators\?panel=opr_/);
    await page.keyboard.press("Tab");
    assert.equal(await focused(), `#/apps/${appid}/users/${user.id}`);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "target" }).waitFor();
    await follow("Actor's id");
    await page.getByRole("complementary", { name: server.operator.name }).waitFor();
    await follow("Request");
    await page.getByText(`Request: ${requestId}`, { exact: true }).waitFor();
  },
};

/** Runs in the page. */
function completions(box: Element): string[] {
  return [...((box as HTMLInputElement).list?.options ?? [])].map(({ value }) => value);
}
