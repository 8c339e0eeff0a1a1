import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { registerDevice } from "./jobs/steps.ts";
import { type Checks, connect, hold, openSignedIn, send, signIn } from "./suite.ts";

/** Failed and delayed calls, and changes from elsewhere. The database makes no difference. */
export const interruptedJourneys: Checks = {
  async "a next page that fails is not asked for again and again, though the address names an entry beyond it"(setup) {
    const call = await connect(setup.server);
    const { result: application } = await call("POST", "/applications", { name: "Failing" });
    const page = await openSignedIn(setup);
    let asked = 0;
    await page.route(`**/api/audit?appid=${application.appid}&**`, async (route) => {
      if (route.request().url().includes("pagingToken=")) {
        asked += 1;
        return route.fulfill({ status: 500, json: { success: false, error: "Broken", message: "It is broken." } });
      }
      const json = await (await route.fetch()).json();
      await route.fulfill({ json: { ...json, result: { ...json.result, nextToken: "more" } } });
    });
    await page.goto(`${setup.server.url}/_/console/#/apps/${application.appid}/audit?panel=aud_none`);
    const again = page.getByRole("button", { name: "Try again" });
    await again.waitFor();
    await page.waitForTimeout(500);
    assert.equal(asked, 1);
    const answered = page.waitForResponse((response) => response.url().includes("pagingToken="));
    await again.click();
    await answered;
  },

  async "a list without rows shows the first ones by itself"({ openSession, server }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Filled" });
    const page = await openSession();
    await page.clock.install();
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/devices`);
    await page.getByRole("heading", { level: 2 }).waitFor();
    assert.equal(await page.getByRole("row").count(), 0);
    await registerDevice(server.url, { ...application, uniqueId: "the first device" });
    await page.clock.fastForward(31_000); // to the next look for new rows
    await page.getByRole("row").filter({ hasText: "the first device" }).waitFor({ timeout: 20_000 });
  },

  async "a custom time range that is being typed stays while the page moves on with the clock"({
    openSession,
    server,
  }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Moving" });
    await registerDevice(server.url, application);
    const page = await openSession();
    await page.clock.install();
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/overview?range=15m`);
    const [button, from] = [
      page.getByRole("button", { name: "Time range:" }),
      page.getByLabel("From", { exact: true }),
    ];
    await button.click();
    await from.fill("2026-01-02T03:04");
    for (const _ of [1, 2]) {
      const answered = page.waitForResponse((response) => /[?&]from=/.test(response.url()), { timeout: 20_000 });
      await page.clock.fastForward(61_000);
      await answered;
    }
    assert.equal(await from.inputValue(), "2026-01-02T03:04");
    assert.ok(await from.evaluate((field) => field.contains(document.activeElement)));
    await page.getByRole("button", { name: "7 days" }).click();
    await button.click();
    const days = (Date.now() - Date.parse(await from.inputValue())) / 86_400_000;
    assert.ok(days > 6 && days < 8, `${days} days`);
  },

  async "a closed panel gives the focus back to its row"(setup) {
    const { server, hand } = setup;
    const call = await connect(server);
    const [first, second] = [`${hand.name}, closed one`, `${hand.name}, closed two`];
    for (const name of [first, second]) await call("POST", "/applications", { name });
    const page = await openSignedIn(setup);
    await page.goto(
      `${server.url}/_/console/#/apps?namePrefix=${encodeURIComponent(`${hand.name}, closed`)}&sortOrder=name`,
    );
    const row = page.getByRole("row").filter({ hasText: first });
    const panel = page.getByRole("complementary", { name: first });
    const close = panel.getByRole("button", { name: "Close" });
    for (const closing of [() => close.click(), () => close.press("Escape")]) {
      await row.press("Space");
      await panel.waitFor();
      await closing();
      await panel.waitFor({ state: "detached" });
      await page.keyboard.press("j");
      await page.locator("[role=row]:focus").filter({ hasText: second }).waitFor({ timeout: 20_000 });
    }
  },

  async "the space between two words that are searched stays, however slowly they are typed"(setup) {
    const page = await openSignedIn(setup);
    const box = page.getByPlaceholder("Name", { exact: true });
    await box.pressSequentially("none ");
    await page.getByText("Nothing matches this filter").waitFor(); // the address has the first word
    await box.pressSequentially("such");
    await page.waitForFunction(() => /such/.test(location.hash));
    assert.equal(await box.inputValue(), "none such");
  },

  async "Enter in the palette never opens what the former text found"(setup) {
    const call = await connect(setup.server);
    const [former, later] = [`Former ${setup.hand.name}`, `Later ${setup.hand.name}`];
    for (const name of [former, later]) await call("POST", "/applications", { name });
    const page = await openSignedIn(setup);
    await page.keyboard.press("Control+k");
    const box = page.getByRole("combobox");
    await box.fill(former);
    await page.getByRole("option").filter({ hasText: former }).first().waitFor();
    const release = await hold(page, "GET", "**/api/search?q=Later**");
    const asked = page.waitForRequest("**/api/search?q=Later**", { timeout: 20_000 });
    await box.fill(later);
    await box.press("Enter"); // before the search
    await asked;
    await box.press("Enter"); // while it is on its way
    assert.equal(await box.count(), 1);
    release();
    await page.getByRole("option", { selected: true }).filter({ hasText: later }).waitFor();
    await box.press("Enter");
    await page.getByRole("button", { name: `Application: ${later}` }).waitFor();
  },

  async "a crash says that its next reports cannot be loaded, and goes on to the one that was asked for"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Crashed twice" });
    const device = await registerDevice(server.url, application);
    for (const message of ["the older", "the newer"])
      await send(
        `${server.url}/devices/current/crashreports`,
        "POST",
        { stackTrace: "at a.b(C.kt:1)", message },
        device,
      );
    const { result: crashes } = await call("GET", `/applications/${application.appid}/crashes`);
    const page = await openSignedIn(setup);
    let failures = 1;
    await page.route("**/crashes/*/reports?**", async (route) => {
      const url = new URL(route.request().url());
      const isNext = url.searchParams.has("pagingToken");
      url.searchParams.delete("pagingToken");
      if (isNext && failures-- > 0) return route.fulfill({ status: 500, json: { message: "It is broken." } });
      const { result, ...json } = await (await route.fetch({ url: `${url}` })).json();
      const pageResults = isNext ? result.pageResults.slice(1) : result.pageResults.slice(0, 1);
      await route.fulfill({ json: { ...json, result: isNext ? { pageResults } : { pageResults, nextToken: "more" } } });
    });
    const { fingerprint } = crashes.pageResults[0];
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/crashes/${fingerprint}?report=2`);
    await page.getByRole("alert").waitFor();
    await page.getByText("Report 1 of 2").waitFor();
    await page.getByRole("button", { name: "Older report" }).click();
    await page.getByText("Report 2 of 2").waitFor();
    await page.getByRole("definition").filter({ hasText: "the older" }).waitFor();
    await page.getByRole("alert").waitFor({ state: "detached" });
  },

  async "a sign-in in one tab is one in the others: of the same operator they go on, of another they begin again"({
    openSession,
    server,
    hand,
  }) {
    const call = await connect(server);
    const { result: other } = await call("POST", "/operators", { name: `The other ${hand.name}`, role: "viewer" });
    const page = await openSession();
    const box = page.getByPlaceholder("Name", { exact: true });
    await box.fill("zzz");
    await page.getByText("Nothing matches this filter").waitFor();
    await page.context().clearCookies(); // as if the session had been revoked elsewhere
    await page.evaluate(markDocument);
    await page.getByRole("heading", { level: 1 }).press("r");
    const ended = page.getByRole("dialog", { name: "Your session has ended" });
    await ended.waitFor();

    const tab = await page.context().newPage();
    const signInAs = async (operator: typeof server.operator) => {
      await tab.goto(`${server.url}/_/console/#/sign-in`);
      await signIn(tab, { operator });
    };
    await signInAs(server.operator);
    await ended.waitFor({ state: "detached", timeout: 20_000 });
    assert.equal(await box.inputValue(), "zzz");
    assert.ok(await isMarked(page), "it is the same page");

    await signInAs(other);
    await page.getByRole("button", { name: `Account: ${other.name}` }).waitFor({ timeout: 20_000 });
    assert.ok(!(await isMarked(page)), "it is a new page");
  },
};

/** Runs in the page. */
function markDocument(): void {
  document.documentElement.dataset["marked"] = "yes";
}

function isMarked(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.dataset["marked"] === "yes");
}
