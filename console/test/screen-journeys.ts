import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type Checks, connect, send, signIn } from "./suite.ts";

export const screenJourneys: Checks = {
  async "settings are saved as one document, a provider by its form, and the application is renamed, suspended and deleted"({
    open,
    server,
  }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Configured" });
    const { appid } = application;
    const settings = async () => (await call("GET", `/applications/${appid}/settings`)).result;
    const page = await open();
    await signIn(page, server);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/settings?part=json`);
    const text = page.getByRole("textbox", { name: "Settings" });
    const save = page.getByRole("button", { name: "Save", exact: true });
    await text.fill('{"origins": "https://app.example"');
    await save.click();
    await page.getByText("This is no JSON").waitFor();
    await text.fill('{"unknown": 1}');
    await save.click();
    await page.getByText("unknown", { exact: false }).nth(1).waitFor();
    await text.fill('{"debug": true}');
    await save.click();
    await page.getByText("Saved all settings.").waitFor();
    assert.equal((await settings()).debug, true);

    await page.getByRole("link", { name: "Sign-in", exact: true }).click();
    await page.getByRole("button", { name: "Add a provider" }).click();
    await save.click();
    await page.getByText("Each provider needs a name.").waitFor();
    await page.getByLabel("Name").fill("Example");
    await page.getByLabel("Issuer").fill("https://example.com");
    await page.getByLabel("Audience").fill("app");
    await page.getByLabel("Address of its keys").fill("https://192.0.2.1/keys");
    await save.click();
    await page.getByText("Saved: Sign-in.").waitFor();
    const provider = { issuer: "https://example.com", audience: "app", jwksUrl: "https://192.0.2.1/keys" };
    assert.deepEqual((await settings()).oidc, { Example: provider });
    await page.getByRole("button", { name: "Remove Example" }).click();
    await save.click();
    await page.getByText("No provider").waitFor();
    await page.waitForFunction(() => document.querySelector("button[type=submit]:disabled") !== null);
    assert.deepEqual((await settings()).oidc, {});

    await page.getByRole("link", { name: "General", exact: true }).click();
    await page.getByRole("button", { name: "Suspend" }).click();
    await page.getByText("This application is suspended").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("This application is suspended").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText("0 devices are registered").waitFor();
    await dialog.getByLabel("to confirm").fill(appid);
    await dialog.getByLabel("Your password").fill(server.operator.password);
    await dialog.getByRole("button", { name: "Delete the application" }).click();
    await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
  },

  async "the palette finds a user by e-mail, a device by its unique id, and an application by its name"({
    open,
    server,
  }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Palette of colors" });
    const { appid, appkey } = application;
    const facts = { appid, appkey, platform: "iOS", uniqueId: "palette-device" };
    const { result: device } = await send(`${server.url}/devices`, "POST", facts);
    const ada = { username: "ada.palette", password: "correct horse", email: "ada@palette.example" };
    await send(`${server.url}/users`, "POST", ada, { Authorization: `Service ${device.accessToken}` });
    const page = await open();
    await signIn(page, server);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/keys`);
    const find = async (text: string, option: string) => {
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill(text);
      await page.getByRole("option", { selected: true }).filter({ hasText: option }).waitFor();
      await page.keyboard.press("Enter");
    };
    await find("ada@pal", "ada.palette");
    await page.getByRole("heading", { level: 1, name: "ada.palette" }).waitFor();
    await find("palette-d", "palette-device");
    await page.getByText("palette-device").first().waitFor();
    await find("palette of", "Palette of colors");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("nothing is called so");
    await page.getByText("Nothing has this name or id.").waitFor();
  },

  async "the audit log shows values before and after, failed sign-ins, and is exported; new rows are offered"({
    open,
    server,
  }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Before" });
    const { appid } = application;
    await call("PATCH", `/applications/${appid}`, { name: "After" });
    const page = await open();
    await signIn(page, server);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/audit`);
    await page.getByRole("row").filter({ hasText: "Change application" }).click();
    const change = page.getByRole("complementary").getByRole("row").filter({ hasText: "name" });
    assert.deepEqual(await change.getByRole("cell").allTextContents(), ["Before", "After"]);
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("menuitem", { name: "Changes by operators" }).click();
    await page.getByRole("button", { name: "Remove Kind of actor" }).waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: "As CSV" }).click();
    const csv = readFileSync(await (await downloading).path(), "utf8");
    assert.ok(csv.includes("createApplication") && csv.includes(appid), csv);

    await call("POST", `/applications/${appid}/keys`, { label: "new" });
    const offered = page.getByRole("button", { name: /^[12] new$/ }); // within half a minute; the export is an entry, too
    await offered.click();
    await page.getByRole("row").filter({ hasText: "Create application key" }).waitFor();
    await offered.waitFor({ state: "detached" });
  },

  async "frames of an app stand out of a stack trace"({ open, server }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Crashing" });
    const { appid, appkey } = application;
    const { result: device } = await send(`${server.url}/devices`, "POST", { appid, appkey, platform: "Android" });
    const frames = ["com.example.notes.Editor.save(Editor.kt:12)", "android.view.View.performClick(View.java:7448)"];
    const stackTrace = ["java.lang.IllegalStateException: closed", ...frames.map((name) => `\tat ${name}`)].join("\n");
    const headers = { Authorization: `Service ${device.accessToken}` };
    await send(`${server.url}/devices/current/crashreports`, "POST", { stackTrace }, headers);
    const page = await open();
    await signIn(page, server);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/crashes`);
    await page.getByRole("row").filter({ hasText: "new" }).filter({ hasText: "IllegalStateException" }).click();
    const trace = page.getByRole("region", { name: "Stack trace" });
    assert.equal(await trace.locator("[data-kind=app]").innerText(), `    at ${frames[0]}\n`);
    await page.getByText("Only frames of the app").click();
    await trace.getByText("1 of libraries").waitFor();
    assert.equal(await trace.getByText("performClick").count(), 0);
  },
};
