import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Locator } from "playwright-core";
import { noEnvFile, rollcall, serverEnvironment } from "../../server/test/running-server.ts";
import { registerDevice } from "./jobs/steps.ts";
import { addHistory, newVersions, peaks, seenOrigins } from "./looks/content.ts";
import { type Checks, connect, hold, openSignedIn, send, signIn } from "./suite.ts";

/** Behaviour of the page, on which the database has no influence. */
export const pageJourneys: Checks = {
  async "a list is walked with the keyboard alone"({ open, server }) {
    const call = await connect(server);
    await call("POST", "/applications", { name: "Alpha" });
    await call("POST", "/applications", { name: "Beta" });
    const page = await open();
    await page.getByLabel("Name").focus();
    await page.keyboard.type(server.operator.name);
    await page.keyboard.press("Tab");
    await page.keyboard.type(server.operator.password);
    await page.keyboard.press("Enter");
    await page.getByRole("row").filter({ hasText: "Beta" }).waitFor();

    await page.getByRole("row").nth(1).focus();
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-rowindex") === "3");
    const name = await page.locator(":focus [role=gridcell]").first().textContent();
    await page.keyboard.press("Space");
    await page.getByRole("complementary", { name: name ?? "" }).waitFor();
    await page.reload();
    await page.getByRole("complementary", { name: name ?? "" }).waitFor(); // the address has it
    await page.keyboard.press("Escape");
    await page.getByRole("complementary", { name: name ?? "" }).waitFor({ state: "detached" });

    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.getByRole("heading", { level: 1, name: "Deployment log" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("Operators");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Operators" }).waitFor();
  },

  async "a visit without a session makes no call that fails, also when the session has ended"({ open, server }) {
    const page = await open();
    const failed: string[] = [];
    page.on("response", (response) => {
      if (response.status() >= 400) failed.push(`${response.status()} ${response.url()}`);
    });
    page.on("console", (message) => {
      if (message.type() === "error") failed.push(message.text());
    });
    const visit = async () => {
      await page.reload();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
    };
    await visit();
    await signIn(page, server);
    await page.evaluate(async () => {
      const headers = { "X-Rollcall-Console": "1" };
      const { result } = await (await fetch("../api/sessions/cookie", { headers })).json();
      await fetch(`../api/sessions/${result.session.id}`, { method: "DELETE", headers });
    });
    await visit();
    assert.deepEqual(failed, []);
  },

  async "the page says before its session ends, and when it was loaded without encryption"({ openSession }) {
    const page = await openSession();
    const fourMinutes = 4 * 60_000;
    const { idleMs } = await page.evaluate(readSession);
    const soonEnded = Date.now() + idleMs - fourMinutes;
    await page.clock.setFixedTime(soonEnded);
    await page.getByText("because nothing was done here for a while").waitFor();
    await page.getByRole("button", { name: "Stay signed in" }).click();
    await page.clock.setFixedTime(soonEnded + 1000);
    await page.getByRole("button", { name: "Stay signed in" }).waitFor({ state: "detached" });

    await page.getByText("was loaded without encryption").waitFor({ state: "detached" });
    await page.addInitScript(() => Object.defineProperty(window, "isSecureContext", { value: false }));
    await page.reload();
    await page.getByText("was loaded without encryption").waitFor();
  },

  async "a query before the # changes no parameter of a screen"(setup) {
    const { server } = setup;
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/?from=mail#/apps?namePrefix=none&sortOrder=name`);
    await page.getByText("Nothing matches this filter").waitFor();
    await page.getByRole("button", { name: "Order: By name" }).waitFor();
    assert.equal(new URL(page.url()).search, "");
  },

  async "rows of one application are out of sight before those of another arrive"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const [first, second] = await Promise.all(
      ["First", "Second"].map(async (name) => (await call("POST", "/applications", { name })).result),
    );
    await registerDevice(server.url, { ...first, uniqueId: "of the first" });
    await registerDevice(server.url, { ...second, uniqueId: "of the second" });
    const page = await openSignedIn(setup);
    const address = ({ appid }: { readonly appid: string }) => `${server.url}/_/console/#/apps/${appid}/devices`;
    await page.goto(address(first));
    await page.getByText("of the first").waitFor();
    const release = await hold(page, "GET", `**/${second.appid}/devices?**`);
    const asked = page.waitForRequest(`**/${second.appid}/devices?**`);
    await page.goto(address(second));
    await asked;
    await page.getByText("of the first").waitFor({ state: "detached", timeout: 20_000 });
    release();
    await page.getByText("of the second").waitFor();
  },

  async "a parameter that a screen does not have is named, until the address is another"(setup) {
    const page = await openSignedIn(setup);
    await page.goto(`${setup.server.url}/_/console/#/audit?action=createOperatorSession&aktion=none`);
    await page.getByText("This screen ignores a part of the address: aktion.").waitFor();
    await page.getByRole("row").filter({ hasText: "Create operator session" }).first().waitFor();
    await page.goto(`${setup.server.url}/_/console/#/audit?action=createOperatorSession`);
    await page.getByText("This screen ignores a part of the address").waitFor({ state: "detached" });
  },

  async "Escape closes the panel, and then removes the filters"(setup) {
    const page = await openSignedIn(setup);
    await page.goto(`${setup.server.url}/_/console/#/audit?action=createOperatorSession`);
    await page.getByRole("button", { name: "Remove Action" }).waitFor();
    await page.getByRole("row").filter({ hasText: "Create operator session" }).first().click(besideIds);
    const panel = page.getByRole("complementary", { name: "Create operator session" });
    await panel.waitFor();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    const filter = page.getByRole("button", { name: "Remove Action" });
    assert.equal(await filter.count(), 1);
    await page.keyboard.press("Escape");
    await filter.waitFor({ state: "detached" });
    await page.waitForFunction(() => !location.hash.includes("action"));
  },

  async "a refusal says what it means and what to do, and a change has the request_id of its call"(setup) {
    const call = await connect(setup.server);
    const { result: application } = await call("POST", "/applications", { name: "Told" });
    const page = await openSignedIn(setup);
    const screens = `${setup.server.url}/_/console/#/apps/${application.appid}`;
    await page.goto(`${screens}/events?type=none.such`);
    const alert = page.getByRole("alert");
    await alert.getByText("Change what is asked for").waitFor();
    await alert.getByText("ParameterIncorrectFormat").waitFor();

    await page.goto(`${screens}/settings?part=rehearsals`);
    await page.getByLabel("Calls that ask for a failure").selectOption("on");
    const answered = page.waitForResponse((response) => response.request().method() === "PATCH");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    const { request_id: requestId } = await (await answered).json();
    const toast = page.getByRole("status").filter({ hasText: "Saved: Rehearsals." });
    await toast.getByRole("button", { name: `Copy ${requestId.slice(0, 8)}` }).waitFor();
  },

  async "the overview shows the use of quotas"(setup) {
    const call = await connect(setup.server);
    const { result: application } = await call("POST", "/applications", { name: "Bounded" });
    await registerDevice(setup.server.url, application);
    const quotas = { bytesPerApplication: 1000, filesPerApplication: 10 };
    await call("PATCH", `/applications/${application.appid}/settings`, { quotas });
    const page = await openSignedIn(setup);
    await page.goto(`${setup.server.url}/_/console/#/apps/${application.appid}/overview`);
    await page.getByRole("meter", { name: "Use of the storage" }).waitFor();
    await page.getByRole("link", { name: "0% of 10", exact: true }).click();
    await page.getByLabel("Number of all files").waitFor();
  },

  async "a shorter retention says what it drops before it is saved"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Forgetful" });
    const device = await registerDevice(server.url, application);
    const dayMs = 86_400_000;
    const events = [20, 20, 1].map((days) => ({ key: "opened", timestamp: `/Date(${Date.now() - days * dayMs})/` }));
    await send(`${server.url}/metrics/events`, "POST", { events }, device);
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/settings?part=storage`);
    const field = page.getByLabel("Days that metrics are kept");
    await field.fill("7");
    await page.getByText("2 events of 1 metric").waitFor();
    await page.getByLabel("Days that crash reports are kept").fill("7");
    await page.getByText("for good: no crash report").waitFor();
    await field.fill("90");
    await page.getByText("2 events of 1 metric").waitFor({ state: "detached" });
  },

  async "settings show what was used today; a list of origins without a page that has called asks first, and names it"(
    setup,
  ) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Pages" });
    addHistory(server.dataDir ?? "", application.appid);
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/settings?part=access`);
    const [first, second] = seenOrigins;
    await page.getByText("Web pages that called in the last 24 hours").getByText(first).waitFor();
    const [field, save] = [page.getByLabel("Origins"), page.getByRole("button", { name: "Save", exact: true })];
    await field.fill(`${second}\nhttps://new.example.com`);
    await save.click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText(`Pages of ${first} cannot call any more.`).waitFor();
    assert.equal(await dialog.getByText(`Pages of ${second}`).count(), 0);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await field.fill(`https://*.example.com\n${second}`);
    await save.click();
    await page.getByText("Saved: Access.").waitFor(); // the wildcard has the first
    await field.fill(second);
    await save.click();
    await dialog.getByText(`Pages of ${first} cannot call any more.`).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Discard" }).click();
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/settings?part=limits`);
    await page.getByText(`Busiest minute of a device in the last 24 hours: ${peaks.caller} calls`).waitFor();
    await page.getByText(`POST /checkins ${peaks["POST /checkins"]} calls`).waitFor();
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/settings?part=storage`);
    await page.getByText("In use: 0 bytes.").waitFor();
    assert.deepEqual((await call("GET", `/applications/${application.appid}/settings`)).result.origins, [
      "https://*.example.com",
      second,
    ]);
  },

  async "operations, types of events and texts of mails are chosen and typed in fields, not as JSON"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Fields" });
    const at = `/applications/${application.appid}/settings`;
    await call("PATCH", at, { events: { types: ["User.*"] }, limits: { streams: 7 } });
    const settings = async () => (await call("GET", at)).result;
    const page = await openSignedIn(setup);
    const [save, discard] = ["Save", "Discard"].map((name) => page.getByRole("button", { name, exact: true }));
    const open = (part: string) =>
      page.goto(`${server.url}/_/console/#/apps/${application.appid}/settings?part=${part}`);
    const saveAs = async (title: string) => {
      const saved = page.waitForResponse((response) => response.request().method() === "PATCH");
      await save?.click();
      await saved;
      await page.getByText(`Saved: ${title}.`).last().waitFor(); // the message of an earlier change may still be shown
    };
    const add = async (group: Locator, operation: string) => {
      await group.getByLabel("Add an operation").selectOption(operation);
      await group.getByRole("button", { name: "Add" }).click();
    };

    await open("access");
    const disabled = page.getByRole("group", { name: "Disabled operations" });
    await add(disabled, "POST /checkins");
    await add(disabled, "POST /users");
    await disabled.getByRole("button", { name: "Remove POST /checkins" }).click();
    await saveAs("Access");
    assert.deepEqual((await settings()).disabledOperations, ["POST /users"]);

    await open("limits");
    const limits = page.getByRole("group", { name: "Single operations" });
    await add(limits, "POST /checkins");
    const limit = limits.getByRole("group", { name: "POST /checkins" });
    await save?.click();
    await limits.getByText("POST /checkins: Calls a second, as a number").waitFor();
    await limit.getByLabel("Calls a second").fill("0.5");
    await limit.getByLabel("Burst").fill("10");
    await saveAs("Limits");
    const operations = { "POST /checkins": { perSecond: 0.5, burst: 10 } };
    assert.deepEqual((await settings()).limits, { streams: 7, operations });

    await open("mail");
    const code = page.getByRole("group", { name: "Mail with a reset code" });
    await code.getByLabel("Subject").fill("Your code");
    await save?.click();
    await page.getByText("it needs a subject and a text, or neither").waitFor();
    await code.getByLabel("Text").fill("It is @ResetCode.");
    await saveAs("Mail");
    const resetCode = { subject: "Your code", body: "It is @ResetCode." };
    assert.deepEqual((await settings()).mail.texts, { resetCode });

    await open("events");
    const types = page.getByRole("group", { name: "Types that are recorded" });
    const box = (name: string) => types.getByRole("checkbox", { name, exact: true });
    assert.ok(await box("user.signed_in").isChecked(), "it is of a kind that is chosen");
    assert.ok(await box("user.signed_in").isDisabled());
    await box("user.*").uncheck();
    await types.getByText("Nothing is chosen, which means all events.").waitFor();
    await discard?.click();
    await box("user.*").uncheck();
    await box("user.signed_in").check();
    await box("checkin.created").check();
    await box("checkin.*").check();
    await saveAs("Events");
    assert.deepEqual((await settings()).events.types, ["user.signed_in", "checkin.*"]);
    await types.getByText("All events").click();
    await saveAs("Events");
    assert.equal((await settings()).events?.types, undefined);
  },

  async "a step of Start leads to its call in the explorer, whose test callers count in no total"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Tried" });
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/start`);
    const arrived = page.getByRole("complementary", { name: "What has arrived" });
    for (const [step, tick] of [
      ["Check in", "First check-in"],
      ["Report an event", "First event"],
      ["Several calls in one", "First batch"],
    ] as const) {
      const opening = page.waitForEvent("popup");
      await page.getByRole("link", { name: `Try it in the explorer: ${step}` }).click();
      const explorer = await opening;
      await explorer.getByRole("button", { name: "Send", exact: true }).click();
      await explorer
        .getByRole("region", { name: "Answer" })
        .getByText(/^20[01]/)
        .waitFor();
      await explorer.close();
      await arrived.getByRole("listitem").filter({ hasText: tick }).and(page.locator("[data-done]")).waitFor();
    }
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/overview`);
    await page.getByRole("heading", { name: "No device has registered yet" }).waitFor();
  },

  async "the list of crashes names the platforms of their devices, and a crash does"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Everywhere" });
    const { appid, appkey } = application;
    for (const platform of ["iOS", "Android"]) {
      const { result: device } = await send(`${server.url}/devices`, "POST", { appid, appkey, platform });
      const headers = { Authorization: `Service ${device.accessToken}` };
      const report = { stackTrace: "Error: everywhere\n    at draw (map.js:1:1)" };
      await send(`${server.url}/devices/current/crashreports`, "POST", report, headers);
    }
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/crashes`);
    await page.getByRole("row").filter({ hasText: "Android, iOS" }).click(besideIds);
    await page.getByText("2 reports from 2 devices (Android, iOS)").waitFor();
  },

  async "the deployment says how old its newest backup is"(setup) {
    const { server } = setup;
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/`);
    await page.getByText("none by rollcall backup").waitFor();
    const folder = mkdtempSync(path.join(tmpdir(), "rollcall-backup-"));
    const backup = [rollcall, "backup", path.join(folder, "a.backup"), "--fast", "--without-files"];
    try {
      const env = { ...serverEnvironment, DATA_DIR: server.dataDir };
      execFileSync(process.execPath, backup, { cwd: noEnvFile, env, stdio: ["ignore", "ignore", "inherit"] });
    } finally {
      rmSync(folder, { recursive: true });
    }
    await page.keyboard.press("r");
    await page.getByText(/ \([\d.]+ [kM]B, without files\)$/).waitFor();
  },

  async "the overview names the new versions of the app, marks them on its charts, and has them in their tables"(
    setup,
  ) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Released" });
    const { appid } = application;
    await registerDevice(server.url, application);
    addHistory(server.dataDir ?? "", appid);
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/overview?range=24h`);
    const legend = page.getByRole("list", { name: "Markers on the charts" });
    const [first, latest] = newVersions;
    await legend.getByText(`New app version ${first.name} on Android, iOS, `).waitFor();
    await legend.getByText(`New app version ${latest.name} on iOS, `).waitFor();
    assert.equal(await legend.getByRole("listitem").count(), newVersions.length); // without the first one, and without changes

    const chart = page.getByRole("region", { name: "Calls", exact: true });
    const plot = chart.locator(".u-over");
    const box = await plot.boundingBox();
    assert.ok(box !== null);
    const hours = 24;
    await plot.hover({ position: { x: (box.width * (hours - latest.hoursAgo - 0.5)) / hours, y: 40 } });
    await chart.getByText(`New app version ${latest.name} on iOS`, { exact: true }).waitFor();

    await page.getByRole("button", { name: "Calls as a table" }).click();
    const rows = page.getByRole("group", { name: "Calls, numbers" }).getByRole("row");
    await rows
      .filter({ has: page.getByRole("cell", { name: `New app version ${latest.name} on iOS`, exact: true }) })
      .waitFor();
    const versions = await rows.getByText("New app version").allInnerTexts();
    assert.deepEqual(
      versions.map((text) => text.trim()),
      [`${latest.name} on iOS`, `${first.name} on Android, iOS`].map((version) => `New app version ${version}`),
    );

    await legend.getByRole("link", { name: first.name, exact: true }).click();
    await page.waitForFunction(() => location.hash.includes("/devices?appVersion="));
  },

  async "a key is rotated step by step, with the versions that use each, and the shared secret names its author"(
    setup,
  ) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Rotated" });
    const { appid } = application;
    await registerDevice(server.url, application);
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/keys`);
    await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    await page.getByRole("row").nth(1).press("Space");
    const versions = page.getByRole("complementary").getByRole("listitem");
    assert.equal(await versions.first().innerText().then(oneLine), "1.0 1");

    const steps = page.getByRole("region", { name: "Rotation of keys" });
    assert.equal(await steps.count(), 0);
    const { result: key } = await call("POST", `/applications/${appid}/keys`, { label: "Version 2" });
    await call("PUT", `/applications/${appid}/signing-secret`, {});
    await page.reload();
    await steps.getByLabel("Key that is to go").waitFor();
    assert.equal(await steps.getByRole("listitem").count(), 0, "several keys may stay in use");
    await steps.getByLabel("Key that is to go").selectOption({ index: 1 });
    await steps.getByText("No device has registered with it yet.").waitFor();
    await page.getByText(`The shared secret of signed requests was set by ${server.operator.name}`).waitFor();
    await registerDevice(server.url, { appid, appkey: key.appkey });
    await page.reload();
    await steps.getByText("Devices register with it.").waitFor();
    await steps.getByRole("button", { name: /^Retire/ }).click();
    await page.getByRole("alertdialog").getByText("1 device", { exact: true }).waitFor();
  },
};

/** Runs in the page, with the cookie of the operator. */
async function readSession(): Promise<{ idleMs: number }> {
  const response = await fetch("../api/sessions/current", { headers: { "X-Rollcall-Console": "poll" } });
  return (await response.json()).result;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

/** A press on an id copies it. */
const besideIds = { position: { x: 24, y: 12 } };
