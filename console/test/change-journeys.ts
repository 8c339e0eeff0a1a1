import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { registerDevice } from "./jobs/steps.ts";
import { type Checks, connect, hold, openSignedIn, send } from "./suite.ts";

/** Slow changes, and concurrent changes by another operator; the page alone handles both. */
export const changeJourneys: Checks = {
  async "settings follow the server where nothing is typed, and keep what is typed while others save"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Edited twice" });
    const settings = `/applications/${application.appid}/settings`;
    await call("PATCH", settings, { quotas: { filesPerUser: 10 } });
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/settings?part=storage`);
    const [ofUser, ofAll] = [
      page.getByLabel("Number of files of one user", { exact: true }),
      page.getByLabel("Number of all files", { exact: true }),
    ];
    const save = page.getByRole("button", { name: "Save" });
    await waitForValue(page, "quotas.filesPerUser", "10");

    await call("PATCH", settings, { quotas: { filesPerUser: 77 } });
    await page.keyboard.press("r");
    await waitForValue(page, "quotas.filesPerUser", "77");
    assert.ok(await save.isDisabled(), "nothing is typed");

    await ofAll.fill("500");
    await call("PATCH", settings, { quotas: { filesPerUser: 78 } });
    await save.click();
    await page.getByText("You have changed the settings elsewhere.").waitFor(); // with a program
    await page.getByText("Number of files of one user, there: 78").waitFor();
    await waitForValue(page, "quotas.filesPerUser", "78");
    const release = await hold(page, "PATCH", /settings$/);
    await save.click();
    await ofUser.fill("79");
    release();
    await page.getByText("Saved: Storage.").waitFor();
    assert.deepEqual((await call("GET", settings)).result.quotas, { filesPerApplication: 500, filesPerUser: 78 });
    assert.equal(await ofUser.inputValue(), "79");
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("z");
    await waitForValue(page, "quotas.filesPerApplication", "");
    assert.equal(await ofUser.inputValue(), "79");
    await save.click();
    await page.waitForFunction(() => document.querySelector("button[type=submit]")?.matches("[disabled]"));
    assert.deepEqual((await call("GET", settings)).result.quotas, { filesPerUser: 79 });
  },

  async "a dialog stays until its call is answered, and its secret until it is stored"({ openSession, server }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Slow keys" });
    const page = await openSession();
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/users`);
    await page.getByRole("link", { name: "Keys", exact: true }).click();
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog");
    const release = await hold(page, "POST", /keys$/);
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByRole("button", { name: "Cancel" }).and(page.locator("[disabled]")).waitFor();
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5); // outside the dialog
    release();
    const secret = dialog.getByText(/^rk_/);
    await secret.waitFor();
    await page.keyboard.press("Control+k");
    const asked = page.waitForEvent("dialog");
    const leaving = page.goBack();
    await (await asked).dismiss();
    await leaving;
    await secret.waitFor();
    assert.equal(await page.getByRole("combobox", { name: /^A screen/ }).count(), 0, "the palette did not open");
    await dialog.getByText("I have stored it").click();
    await dialog.getByRole("button", { name: "Done" }).click();
    await secret.waitFor({ state: "detached" });
  },

  async "keys do nothing behind a question, and a dialog goes with its application"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const [first, second] = await Promise.all(
      ["Opened first", "Opened second"].map(async (name) => (await call("POST", "/applications", { name })).result),
    );
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${first.appid}/overview`);
    await page.getByRole("button", { name: "Application: Opened first" }).waitFor();
    await page.goto(`${server.url}/_/console/#/apps/${second.appid}/overview`);
    await page.getByRole("button", { name: "Application: Opened second" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("rename");
    await page.getByRole("option", { name: /^Rename/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: /Rename/ }).waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Application: Opened first", includeHidden: true }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });

    await page.goto(`${server.url}/_/console/#/apps/${first.appid}/settings`);
    await page.getByRole("button", { name: /^Delete/ }).click();
    await page.getByRole("alertdialog").waitFor();
    await page.locator("[role=alertdialog]").focus();
    for (const key of ["g", "u"]) await page.keyboard.press(key);
    await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  },

  async "the note of another operator is shown before it is replaced, and Undo brings it back"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Shared note" });
    const headers = await registerDevice(server.url, application);
    await send(`${server.url}/devices/current/crashreports`, "POST", { stackTrace: "Error: noted" }, headers);
    const crashes = `/applications/${application.appid}/crashes`;
    const { fingerprint } = (await call("GET", crashes)).result.pageResults[0];
    const noteOf = async () => (await call("GET", `${crashes}/${fingerprint}`)).result.note;
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/crashes/${fingerprint}`);
    await page.getByRole("button", { name: /^Note/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Note").fill("mine");
    await call("PATCH", `${crashes}/${fingerprint}`, { note: "theirs" });
    const save = dialog.getByRole("button", { name: "Save" });
    await save.click();
    await dialog.getByText("Another operator has written meanwhile. Saving replaces it: theirs").waitFor();
    assert.equal(await noteOf(), "theirs");
    await save.click();
    await dialog.waitFor({ state: "detached" });
    assert.equal(await noteOf(), "mine");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("theirs").waitFor();
    assert.equal(await noteOf(), "theirs");
  },

  async "what is not edited of a webhook stays as another operator has it"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Shared webhook" });
    const webhooks = `/applications/${application.appid}/webhooks`;
    const { result: webhook } = await call("POST", webhooks, { url: "http://127.0.0.1:9/", types: ["*"] });
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/webhooks/${webhook.id}`);
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: /^Edit/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("Billing");
    await call("PATCH", `${webhooks}/${webhook.id}`, { perSecond: 7, url: "http://127.0.0.1:9/new" });
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Billing" }).waitFor();
    const { result: changed } = await call("GET", `${webhooks}/${webhook.id}`);
    assert.deepEqual([changed.name, changed.perSecond, changed.url], ["Billing", 7, "http://127.0.0.1:9/new"]);
  },
};

async function waitForValue(page: Page, name: string, value: string): Promise<void> {
  await page.waitForFunction(
    ([name, value]) => document.querySelector<HTMLInputElement>(`[name='${name}']`)?.value === value,
    [name, value],
  );
}
