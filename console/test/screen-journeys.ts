import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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

    await page.keyboard.press("Escape");
    await page.getByRole("combobox").waitFor({ state: "detached" });
    await page.goto(`${server.url}/_/console/#/apps?state=active`);
    await page.getByRole("searchbox", { name: "Name" }).fill("palette");
    await page.waitForFunction(() => document.querySelectorAll("[role=row]").length === 2);
    await page.getByRole("row").filter({ hasText: "Palette of colors" }).waitFor();
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

  async "a webhook is made with its secret shown once, paused, changed, given another secret and deleted; events are listed"({
    open,
    server,
  }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Hooked" });
    const { appid, appkey } = application;
    const received: unknown[] = [];
    await using receiver = await startReceiver(received);
    const page = await open();
    await signIn(page, server);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/webhooks`);
    await page.getByRole("button", { name: "New webhook" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("URL").fill("ftp://127.0.0.1");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.locator("[data-invalid]").first().waitFor();
    await dialog.getByLabel("URL").fill(receiver.url);
    await dialog.getByRole("textbox", { name: "Events" }).fill("user.*, device.registered");
    await dialog.getByRole("button", { name: "Create" }).click();
    const secret = await dialog.getByText(/^whsec_/).innerText();
    await page.getByText("I have stored it").click();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("heading", { level: 1, name: receiver.url.replace("http://", "") }).waitFor();
    assert.ok(!(await page.content()).includes(secret), "the secret left the document with its dialog");

    await page.getByRole("button", { name: "Test" }).click();
    await dialog.getByText("The receiver has accepted it.").waitFor();
    await dialog.getByText("thank you").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("Active", { exact: true }).waitFor();
    const choose = async (name: RegExp) => {
      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name }).click();
    };
    await choose(/^Edit/);
    await dialog.getByLabel("Name", { exact: true }).fill("Billing");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Billing" }).waitFor();
    await choose(/secret/);
    await dialog.getByRole("button", { name: "Make another secret" }).click();
    await dialog.getByText(/^whsec_/).waitFor();
    await page.getByText("I have stored it").click();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("link", { name: "Facts" }).click();
    await page.getByText("Signs, too").waitFor();

    await send(`${server.url}/devices`, "POST", { appid, appkey, platform: "iOS" });
    await page.goto(`${server.url}/_/console/#/apps/${appid}/events?type=device.*`);
    await page.getByRole("row").getByText("device.registered").click();
    const panel = page.getByRole("complementary", { name: "device.registered" });
    await panel.getByText("As it is now").waitFor();
    await panel.getByRole("link", { name: "Billing" }).click();
    await page.getByRole("button", { name: "Remove Event’s id" }).waitFor();
    while (received.length < 2) await page.waitForTimeout(50);
    await page.reload();
    await page.getByRole("row").getByText("Delivered").click();
    await page.getByRole("complementary").getByText("thank you").waitFor();
    await page.getByRole("complementary").getByRole("button", { name: "Send again" }).click();
    await page.getByRole("row").nth(2).waitFor();
    while (received.length < 3) await page.waitForTimeout(50);

    await choose(/^Delete/);
    const question = page.getByRole("alertdialog");
    const [, typed = ""] = /Type “(.+)” to confirm/.exec((await question.textContent()) ?? "") ?? [];
    await question.getByLabel("to confirm").fill(typed);
    await question.getByRole("button", { name: "Delete the webhook" }).click();
    await page.getByRole("heading", { name: "No other system hears of events" }).waitFor();
  },
};

/** A system that accepts events on this machine. */
async function startReceiver(received: unknown[]) {
  const server = createServer((request, response) => {
    received.push(request.headers["webhook-id"]);
    request.resume().once("end", () => response.end("thank you"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
