import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { brotliDecompressSync, gzipSync } from "node:zlib";
import { registerDevice } from "./jobs/steps.ts";
import { addressOf, closedPort, type Ids } from "./looks/content.ts";
import { settle } from "./looks/examine.ts";
import { isCalling } from "./profiles.ts";
import type { TestServer } from "./servers.ts";
import { type Checks, connect, send, signIn } from "./suite.ts";

const dist = path.resolve(import.meta.dirname, "../dist");
const signInBytesMax = 140_000;
const screenBytesMax = 45_000;
const chartBytesMax = 24_000;
const builtBytesMax = 600_000;
const rowsInDocumentMax = 80;
const firstViewCallsMax = 4;

/** The overview is the first, because it brings the charts, which other screens share. */
const furtherScreens: Readonly<Record<string, string>> = {
  "#/apps/$appid/overview": "Overview",
  "#/": "Deployment",
  "#/account": "Account",
  "#/operators": "Operators",
  "#/audit": "Deployment log",
  "#/apps/$appid/start": "Start",
  "#/apps/$appid/users": "Users",
  "#/apps/$appid/users/$userId": "ada",
  "#/apps/$appid/devices": "Devices",
  "#/apps/$appid/devices/$deviceId": "iOS",
  "#/apps/$appid/metrics": "Metrics",
  "#/apps/$appid/metrics/opened": "opened",
  "#/apps/$appid/crashes": "Crashes",
  "#/apps/$appid/crashes/$fingerprint": "Error: broken",
  "#/apps/$appid/requests": "Requests",
  "#/apps/$appid/events": "Events",
  "#/apps/$appid/webhooks": "Webhooks",
  "#/apps/$appid/webhooks/$webhookId": "Billing",
  "#/apps/$appid/explorer": "Explorer",
  "#/apps/$appid/rehearsals": "Rehearsals",
  "#/apps/$appid/keys": "Keys",
  "#/apps/$appid/settings": "Settings",
  "#/apps/$appid/settings?part=limits": "Settings",
  "#/apps/$appid/audit": "Application log",
};

export const budgets: Checks = {
  async "the sign-in loads at most 140 KB, and the list of applications at most 250 KB together with it"({
    open,
    server,
  }) {
    const page = await open();
    const loaded: string[] = await page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => name),
    );
    assert.ok(sizeOf(loaded) <= signInBytesMax, `the sign-in loads ${sizeOf(loaded)} bytes`);
    await signIn(page, server);
    const then: string[] = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
    assert.ok(sizeOf(then) <= 250_000, `both load ${sizeOf(then)} bytes`);
  },

  async "a further screen loads at most 45 KB, and asks at most four times"({ open, server }) {
    const ids = await createContent(server);
    const page = await open();
    await signIn(page, server);
    let asked: { readonly url: string; readonly isPolling: boolean }[] = [];
    page.on("request", (request) => {
      asked.push({ url: request.url(), isPolling: request.headers()["x-rollcall-console"] === "poll" });
    });
    for (const [screen, heading] of Object.entries(furtherScreens)) {
      await settle(page);
      asked = [];
      await page.goto(`${server.url}/_/console/${addressOf(screen, ids)}`);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await settle(page);
      const calls = asked.filter(({ url, isPolling }) => url.includes("/_/api/") && !isPolling);
      const addresses = calls.map(({ url }) => url);
      assert.ok(calls.length <= firstViewCallsMax, `${screen} calls ${addresses.join(", ")}`);
      // The charts are shared, so the overview may download them in addition to its own code.
      const bytesMax = heading === "Overview" ? screenBytesMax + chartBytesMax : screenBytesMax;
      const bytes = sizeOf(asked.map(({ url }) => url));
      assert.ok(bytes <= bytesMax, `${screen} loads ${bytes} bytes`);
    }
  },

  async "an overview asks at most 15 times a minute, a live tail at most 62 times, and a hidden tab never"({
    openSession,
    server,
  }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "A minute" });
    await registerDevice(server.url, application);
    const page = await openSession();
    await page.clock.install();
    await page.reload();
    let calls = 0;
    page.on("request", (request) => {
      if (request.url().includes("/_/api/")) calls += 1;
    });
    const callsOfMinute = async () => {
      calls = 0;
      for (let seconds = 0; seconds < 60; seconds += 1) {
        await page.clock.runFor(1000);
        while (isCalling(page)) await page.waitForTimeout(10);
      }
      return calls;
    };
    const most = { overview: 15, requests: 62 };
    for (const [screen, callsMax] of Object.entries(most)) {
      await page.clock.resume();
      await page.goto(`${server.url}/_/console/#/apps/${application.appid}/${screen}`);
      await page.locator("#main").locator("[role=grid], dl").first().waitFor();
      await settle(page);
      // The clock cannot be set back, and goes on until the browser has received this.
      await page.clock.pauseAt(await page.evaluate(() => Date.now() + 60_000));
      while (isCalling(page)) await page.waitForTimeout(10);
      const asked = await callsOfMinute();
      assert.ok(asked > 0 && asked <= callsMax, `${screen}: ${asked} calls`);
    }
    await page.evaluate(hideTab);
    await page.clock.runFor(1000);
    assert.equal(await callsOfMinute(), 0);
  },

  async "the whole folder is at most 0.6 MB"() {
    const sizes = globSync("**/*", { cwd: dist, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => readFileSync(path.join(file.parentPath, file.name)).length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total <= builtBytesMax, `${total} bytes`);
  },

  async "at most 80 rows of a long list are in the document, and the focus stays on its row"(setup) {
    const { server, openSession } = setup;
    const page = await openSession();
    await page.route("**/_/api/audit?*", (route) => route.fulfill({ json: { success: true, result: longPage } }));
    await page.goto(`${server.url}/_/console/#/audit`);
    await page.getByRole("grid").focus();
    await page.waitForLoadState("networkidle"); // what arrives late may take the focus with it
    const rows = page.getByRole("row");
    await rows.nth(1).focus();
    const last = longPage.pageResults.length - 1;
    for (const [key, index] of [
      ["End", last],
      ["Home", 0],
      ["PageDown", 10],
      ["End", last],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForFunction((at) => document.activeElement?.getAttribute("data-index") === at, `${index}`);
      assert.ok((await rows.count()) <= rowsInDocumentMax, `${await rows.count()} rows`);
    }
    await page.getByRole("grid").hover();
    await page.mouse.wheel(0, -1_000_000_000);
    await page.locator("[data-index='0']").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-index")), `${last}`);
  },
};

/** An application with one object of each kind that has a page. */
async function createContent(server: TestServer): Promise<Ids> {
  const call = await connect(server);
  const { result: application } = await call("POST", "/applications", { name: "Budgets" });
  const { appid } = application;
  await call("PATCH", `/applications/${appid}/settings`, { events: { record: "always" } });
  const hook = { url: closedPort, types: ["user.deleted"], name: "Billing" };
  const { result: webhook } = await call("POST", `/applications/${appid}/webhooks`, hook);
  const device = await registerDevice(server.url, application);
  const ada = { username: "ada", password: "correct horse" };
  const { result: user } = await send(`${server.url}/users`, "POST", ada, device);
  await send(`${server.url}/metrics/events/opened`, "POST", { values: { ms: 1 } }, device);
  await send(`${server.url}/devices/current/crashreports`, "POST", { stackTrace: "Error: broken" }, device);
  const { result: devices } = await call("GET", `/applications/${appid}/devices`);
  const { result: crashes } = await call("GET", `/applications/${appid}/crashes`);
  const { fingerprint } = crashes.pageResults[0];
  return { appid, userId: user.id, deviceId: devices.pageResults[0].id, fingerprint, webhookId: webhook.id };
}

/** More rows than the server returns in a page, so that the list is immediately long. */
const longPage = {
  pageResults: Array.from({ length: 100_000 }, (_, index) => ({
    id: `aud_${index}`,
    at: `/Date(${1_700_000_000_000 - index})/`,
    actor: { kind: "system" },
    action: "runMaintenance",
    details: {},
  })),
  currentToken: "-",
};

/** The gzip size of these addresses, in bytes; only files of the build count. */
function sizeOf(addresses: readonly string[]): number {
  const names = new Set(addresses.flatMap((address) => /\/_\/console\/(assets\/[^?#]+)/.exec(address)?.[1] ?? []));
  return [...names]
    .map((name) => gzipSync(brotliDecompressSync(readFileSync(path.join(dist, `${name}.br`))), { level: 9 }).length)
    .reduce((sum, size) => sum + size, 0);
}

/** Runs in the page: it is as if another tab were shown. */
function hideTab(): void {
  Object.defineProperty(document, "visibilityState", { value: "hidden" });
  document.dispatchEvent(new Event("visibilitychange"));
}
