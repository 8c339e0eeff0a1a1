import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import type { Page } from "playwright-core";
import { type Checks, connect, type Setup, send, signIn } from "./suite.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const looksOfScreens = [
  { name: "wide-light", viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  { name: "wide-dark", viewport: { width: 1440, height: 900 }, colorScheme: "dark" },
  { name: "tablet-light", viewport: { width: 820, height: 1180 }, colorScheme: "light" },
  { name: "phone-light", viewport: { width: 390, height: 844 }, colorScheme: "light", hasTouch: true, isMobile: true },
] as const;

/** Each screen and dialog: its address, and what is done there before the picture. */
const screens: readonly { readonly name: string; readonly at: string; readonly act?: (page: Page) => Promise<void> }[] =
  [
    { name: "applications", at: "#/apps" },
    { name: "application-panel", at: "#/apps", act: (page) => page.getByRole("row").nth(1).press("Space") },
    {
      name: "application-create",
      at: "#/apps",
      act: (page) => page.getByRole("button", { name: "New application" }).click(),
    },
    { name: "application-delete", at: "#/apps", act: openDelete },
    { name: "application-audit", at: "#/apps/$appid/audit" },
    { name: "overview", at: "#/apps/$appid/overview" },
    {
      name: "overview-table",
      at: "#/apps/$appid/overview?range=1h",
      act: (page) => page.getByRole("button", { name: "Calls as a table" }).click(),
    },
    {
      name: "overview-range",
      at: "#/apps/$appid/overview?range=7d",
      act: (page) => page.getByRole("button", { name: /^Time range/ }).click(),
    },
    { name: "users", at: "#/apps/$appid/users" },
    { name: "users-nothing", at: "#/apps/$appid/users?q=nobody" },
    ...["profile", "sign-ins", "devices", "identities", "history"].map((tab) => ({
      name: `user-${tab}`,
      at: `#/apps/$appid/users/$userId?tab=${tab}`,
    })),
    { name: "devices", at: "#/apps/$appid/devices" },
    { name: "device", at: "#/apps/$appid/devices/$deviceId" },
    { name: "crashes", at: "#/apps/$appid/crashes" },
    { name: "crash", at: "#/apps/$appid/crashes/$fingerprint" },
    { name: "start", at: "#/apps/$appid/start" },
    { name: "start-client", at: "#/apps/$appid/start?with=client" },
    { name: "metrics", at: "#/apps/$appid/metrics" },
    { name: "metrics-nothing", at: "#/apps/$appid/metrics?q=nothing" },
    { name: "metric", at: "#/apps/$appid/metrics/level" },
    { name: "metric-grouped", at: "#/apps/$appid/metrics/level?range=24h&groupBy=world&value=score&compare=before" },
    { name: "metric-events", at: "#/apps/$appid/metrics/level?tab=events" },
    { name: "requests", at: "#/apps/$appid/requests" },
    { name: "request-panel", at: "#/apps/$appid/requests", act: openRequest },
    { name: "requests-nothing", at: "#/apps/$appid/requests?operation=nothing" },
    { name: "keys", at: "#/apps/$appid/keys" },
    ...["access", "tokens", "limits", "sign-in", "mail", "storage", "rehearsals"].map((part) => ({
      name: `settings-${part}`,
      at: `#/apps/$appid/settings?part=${part}`,
    })),
    { name: "operators", at: "#/operators" },
    { name: "operator-panel", at: "#/operators", act: (page) => page.getByRole("row").nth(1).press("Space") },
    { name: "operator-invite", at: "#/operators", act: (page) => page.getByRole("button", { name: "Invite" }).click() },
    { name: "audit", at: "#/audit" },
    { name: "audit-panel", at: "#/audit", act: (page) => page.getByRole("row").nth(1).press("Space") },
    { name: "audit-nothing", at: "#/audit?actor=system&action=createOperator" },
    { name: "account", at: "#/account", act: (page) => page.getByText("This one").waitFor() },
    { name: "palette", at: "#/audit", act: openPalette },
  ];

export const looks: Checks = Object.fromEntries(
  looksOfScreens.map((look) => [
    `every screen is accessible and fits: ${look.name}`,
    (setup) => checkScreens(setup, look),
  ]),
);

async function checkScreens(setup: Setup, { name, ...options }: (typeof looksOfScreens)[number]): Promise<void> {
  const { server, open } = setup;
  const call = await connect(server);
  const ids = await createContent(server.url, call);
  const page = await open({ ...options, bypassCSP: true, reducedMotion: "reduce" }); // for axe alone
  const problems: string[] = [];
  problems.push(...(await examine(page, "sign-in", name, setup)));
  await signIn(page, server);
  for (const { name: screen, at, act } of screens) {
    await page.goto(`${server.url}/_/console/${at.replaceAll(/\$(\w+)/g, (_, id: string) => ids[id] ?? "")}`);
    await page.reload(); // no panel or dialog of the screen before
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.locator("[role=grid], h2").first().waitFor();
    await act?.(page);
    problems.push(...(await examine(page, screen, name, setup)));
  }
  assert.deepEqual(problems, []);
}

/** An application with a user, a device and a crash whose texts are long and of many kinds; the ids of all. */
async function createContent(url: string, call: Awaited<ReturnType<typeof connect>>): Promise<Record<string, string>> {
  const text = `${"A long text of an app ".repeat(4)}👩‍🚀 שלום`;
  const { result: application } = await call("POST", "/applications", { name: text });
  const { appid, appkey } = application;
  const uniqueId = `${"a-long-unique-id-".repeat(6)}1`;
  const facts = { platform: "iOS", model: "Phone", osVersion: "26.1", appVersion: "1.0", tag: "beta" };
  const { result: device } = await send(`${url}/devices`, "POST", { appid, appkey, uniqueId, ...facts });
  const service = { Authorization: `Service ${device.accessToken}` };
  const user = {
    username: `${"long.name.".repeat(5)}user`,
    password: "correct horse",
    firstName: text,
    lastName: "שלום",
  };
  const { result: signedUp } = await send(`${url}/users`, "POST", user, service);
  const stackTrace = `TypeError: ${text}\n    at onPress (screen.js:12:3)\n    at run (app.js:1:1)`;
  await send(`${url}/devices/current/crashreports`, "POST", { stackTrace, message: text }, service);
  for (const [score, world] of [
    [10, text],
    [20.5, "שלום"],
    [12, "fire"],
  ] as const) {
    await send(`${url}/metrics/events/level`, "POST", { values: { score, world } }, service);
  }
  const [{ result: devices }, { result: crashes }] = [
    await call("GET", `/applications/${appid}/devices`),
    await call("GET", `/applications/${appid}/crashes`),
  ];
  return {
    appid,
    userId: signedUp.id,
    deviceId: devices.pageResults[0].id,
    fingerprint: crashes.pageResults[0].fingerprint,
  };
}

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
}

async function openRequest(page: Page): Promise<void> {
  await page.getByRole("row").filter({ hasText: "createUser" }).first().click();
  await page.getByText("five minutes before").waitFor();
}

async function openDelete(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Actions" }).first().click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("alertdialog").waitFor();
}

/** Returns one sentence for each violation of WCAG 2.2 A and AA, and for a page that scrolls sideways. */
async function examine(page: Page, screen: string, look: string, { pictures }: Setup): Promise<string[]> {
  await page.waitForLoadState("networkidle");
  // On a phone, a dialog with a field stays unseen until the keyboard of the phone is there.
  await page.waitForFunction(() => document.querySelector('[style*="opacity: 0"]') === null);
  await page.screenshot({ path: path.join(pictures, `${screen}-${look}.png`) });
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  await page.addScriptTag({ content: axe });
  const violations: string[] = await page.evaluate(runAxe);
  return [
    ...violations.map((violation) => `${screen}: ${violation}`),
    ...(isWide ? [`${screen} is wider than the page`] : []),
  ];
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** Runs in the page. */
async function runAxe(): Promise<string[]> {
  const { axe } = globalThis as typeof globalThis & { axe: { run: (options: object) => Promise<AxeResults> } };
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const { violations } = await axe.run({ runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] });
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`,
  );
}
