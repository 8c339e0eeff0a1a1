import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { registerDevice } from "./jobs/steps.ts";
import { type Checks, connect, openSignedIn, send } from "./suite.ts";

export const screenJourneys: Checks = {
  async "the audit log shows values before and after, failed sign-ins, and is exported; new rows are offered"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Before" });
    const { appid } = application;
    await call("PATCH", `/applications/${appid}`, { name: "After" });
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/audit`);
    await page.getByRole("row").filter({ hasText: "Change application" }).click();
    const panel = page.getByRole("complementary");
    await panel.getByRole("rowheader", { name: "name" }).waitFor();
    assert.deepEqual(await panel.getByRole("cell").allTextContents(), ["Before", "After"]);
    await page.keyboard.press("Escape");

    const bars = page.getByRole("region", { name: "Entries by day (UTC)" });
    const legend = async () => (await bars.getByRole("listitem").allInnerTexts()).map((text) => text.split(/\s+/));
    const counted = ["createApplication", "changeApplication"];
    await bars.getByText(`${counted.length}`, { exact: true }).waitFor();
    assert.deepEqual(await legend(), [
      ["Done", `${counted.length}`],
      ["Refused", "0"],
    ]);
    const choose = async (filter: string) => {
      await page.getByRole("button", { name: "Filter" }).click();
      await page.getByRole("menuitem", { name: filter }).click();
    };
    await choose("Action");
    const suggested = page.locator("datalist option");
    const values = await suggested.evaluateAll((options) => options.map((option) => option.getAttribute("value")));
    assert.deepEqual(values.toSorted(), counted.toSorted());
    await page.getByRole("combobox", { name: "Action" }).fill("changeApplication");
    await page.keyboard.press("Enter");
    await bars.getByText("1", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Remove Action" }).click();
    await bars.getByText("2", { exact: true }).waitFor();

    await choose("Changes by operators");
    await page.getByRole("button", { name: "Remove Kind of actor" }).waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: "As CSV" }).click();
    const csv = readFileSync(await (await downloading).path(), "utf8");
    assert.ok(csv.includes("createApplication") && csv.includes(appid), csv);

    await call("POST", `/applications/${appid}/keys`, { label: "new" });
    const offered = page.getByRole("button", { name: /^[12] new$/ }); // within half a minute; the export is also an entry
    await offered.click();
    await page.getByRole("row").filter({ hasText: "Create application key" }).waitFor();
    await offered.waitFor({ state: "detached" });
  },

  async "the list of metrics has a line of the last 30 days for each key, also in words"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Reported" });
    const device = await registerDevice(server.url, application);
    const daysAgo = (days: number) => Date.now() - days * 86_400_000;
    const events = [
      ...[0, 3, 3, 3].map((days) => ({ key: "map.opened", timestamp: daysAgo(days) })),
      { key: "tour.skipped", timestamp: daysAgo(7) },
    ];
    await send(`${server.url}/metrics/events`, "POST", { events }, device);
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/metrics`);
    const lineOf = (key: string) =>
      page.getByRole("row").filter({ hasText: key }).getByRole("img").getAttribute("aria-label");
    assert.match((await lineOf("map.opened")) ?? "", /^Events of the last 30 days: [01] today, 3 on the busiest day$/);
    assert.match((await lineOf("tour.skipped")) ?? "", /^Events of the last 30 days: 0 today, 1 on the busiest day$/);
    await page.getByRole("row").filter({ hasText: "map.opened" }).click();
    await page.getByRole("heading", { level: 1, name: "map.opened" }).waitFor();
  },
};

/** The database makes no difference to it. */
export const traceJourney: Checks = {
  async "frames of an app stand out of a stack trace"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Crashing" });
    const { appid, appkey } = application;
    const { result: device } = await send(`${server.url}/devices`, "POST", { appid, appkey, platform: "Android" });
    const frames = ["com.example.notes.Editor.save(Editor.kt:12)", "android.view.View.performClick(View.java:7448)"];
    const stackTrace = ["java.lang.IllegalStateException: closed", ...frames.map((name) => `\tat ${name}`)].join("\n");
    const headers = { Authorization: `Service ${device.accessToken}` };
    await send(`${server.url}/devices/current/crashreports`, "POST", { stackTrace }, headers);
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/crashes`);
    await page.getByRole("row").filter({ hasText: "new" }).filter({ hasText: "IllegalStateException" }).click();
    const trace = page.getByRole("region", { name: "Stack trace" });
    assert.equal(await trace.locator("[data-kind=app]").innerText(), `    at ${frames[0]}\n`);
    await page.getByText("Only frames of the app").click();
    await trace.getByText("1 of libraries").waitFor();
    assert.equal(await trace.getByText("performClick").count(), 0);
  },
};
