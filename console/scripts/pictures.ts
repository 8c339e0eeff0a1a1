/**
 * Takes the pictures of docs/run/console.md and the README, in Chromium: `npm run docs:console`. They show a real server with an
 * invented app, whose charts have the history that the console's tests use.
 */
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Browser, chromium, type Page } from "playwright-core";
import { startThrowaway } from "rollcall/testing";
import { findChromium } from "../../scripts/find-program.ts";
import { addHistory, closedPort } from "../test/looks/content.ts";
import { quietFlags } from "../test/profiles.ts";
import { ownMachine, type TestServer } from "../test/servers.ts";
import { connect, send, signIn } from "../test/suite.ts";

const folder = path.resolve(import.meta.dirname, "../../docs/pictures");
const wide = { viewport: { width: 1280, height: 800 }, colorScheme: "light" } as const;
const dark = { ...wide, colorScheme: "dark" } as const;
const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, colorScheme: "light" } as const;

interface Picture {
  readonly name: string;
  readonly profile: typeof wide | typeof dark | typeof phone;
  /** Below the address of the application. */
  readonly at: string;
  /** The heading of the screen, and a part of it that appears last. */
  readonly title: string;
  readonly last: string;
  readonly act?: (page: Page) => Promise<void>;
}

const guestCount = 160;
const crash = {
  message: "Route is empty",
  stackTrace: "Error: Route is empty\n    at drawRoute (map.js:88:11)\n    at onLocation (walk.js:31:5)",
};

const openFirstRow = (page: Page) => page.getByRole("row").nth(1).press("Space");

const pictures: readonly Picture[] = [
  { name: "console-overview", profile: wide, at: "overview", title: "Overview", last: "canvas" },
  {
    name: "console-requests-dark",
    profile: dark,
    at: "requests?status=4xx",
    title: "Requests",
    last: "[role=row]",
    act: openFirstRow,
  },
  { name: "console-start", profile: wide, at: "start", title: "Start", last: "pre" },
  { name: "console-users-dark", profile: dark, at: "users", title: "Users", last: "[role=row]", act: openFirstRow },
  { name: "console-overview-phone", profile: phone, at: "overview", title: "Overview", last: "canvas" },
];

const people = [
  { firstName: "Ada", lastName: "Lovelace", model: "iPhone 17", platform: "iOS", location: "48.2082,16.3738" },
  { firstName: "Alan", lastName: "Turing", model: "Pixel 11", platform: "Android", location: "51.5074,-0.1278" },
  { firstName: "Grace", lastName: "Hopper", model: "iPhone 16", platform: "iOS", location: "40.7128,-74.006" },
  {
    firstName: "Katherine",
    lastName: "Johnson",
    model: "Galaxy S27",
    platform: "Android",
    location: "37.0299,-76.3452",
  },
  { firstName: "Edsger", lastName: "Dijkstra", model: "Firefox 151", platform: "Web", location: "51.9225,4.4792" },
  { firstName: "Radia", lastName: "Perlman", model: "iPad Pro", platform: "iOS", location: "47.6062,-122.3321" },
  { firstName: "Barbara", lastName: "Liskov", model: "Pixel 10", platform: "Android", location: "42.3601,-71.0589" },
  { firstName: "Tim", lastName: "Berners-Lee", model: "Chrome 156", platform: "Web", location: "46.2044,6.1432" },
] as const;

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("no Chromium: install it, or name it in CHROMIUM");
const server = await startThrowaway({ env: { PASSWORD_HASH_MEMORY_KIB: "8", ...ownMachine } });
const browser = await chromium.launch({ executablePath, args: quietFlags });
try {
  const appid = await createApp(server);
  for (const picture of pictures) await take(browser, picture, appid);
} finally {
  await browser.close();
  await server.stop();
}

async function take(browser: Browser, { name, profile, at, title, last, act }: Picture, appid: string): Promise<void> {
  const page = await browser.newPage({ ...profile, reducedMotion: "reduce" });
  await page.goto(`${server.url}/_/console/`);
  await signIn(page, server);
  await page.goto(`${server.url}/_/console/#/apps/${appid}/${at}`);
  await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
  await page.locator(last).last().waitFor();
  await act?.(page);
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: path.join(folder, `${name}.jpg`), quality: 82, type: "jpeg" });
  await page.close();
  console.log(`wrote docs/pictures/${name}.jpg`);
}

/** An app with people in several cities, and the mistakes that apps make. Returns its id. */
async function createApp({ url, operator, dataDir }: TestServer): Promise<string> {
  const call = await connect({ url, operator });
  const { result: application } = await call("POST", "/applications", { name: "City walks" });
  const { appid, appkey } = application;
  await call("PATCH", `/applications/${appid}/settings`, { events: { record: "always" } });
  await call("POST", `/applications/${appid}/webhooks`, {
    url: `${closedPort}/hooks`,
    types: ["checkin.*"],
    name: "CRM",
  });
  for (let guest = 1; guest <= guestCount; guest += 1) await welcome(url, { appid, appkey }, guest);
  for (const [index, person] of people.entries()) await walk(url, { appid, appkey }, person, index);
  if (dataDir !== undefined) {
    addHistory(dataDir, appid);
    keepCounts(dataDir, appid);
  }
  return appid;
}

/** As if the app were older than its history, so that it has more objects than were created today. */
function keepCounts(dataDir: string, appid: string): void {
  const database = new DatabaseSync(path.join(dataDir, "rollcall.db"), { timeout: 60_000 });
  try {
    const insert = database.prepare(
      "insert into kept_counts (application_id, kind, counted, counted_at) values (?, ?, ?, ?)",
    );
    const yesterday = Date.now() - 86_400_000;
    for (const [kind, counted] of Object.entries({ devices: 4218, users: 3106, checkins: 21_940 }))
      insert.run(appid, kind, counted, yesterday);
  } finally {
    database.close();
  }
}

/** As many as the history has: a device each, and most of them users. */
async function welcome(url: string, app: object, guest: number): Promise<void> {
  const { result } = await send(`${url}/devices`, "POST", { ...app, platform: "iOS", appVersion: "2.4.0" });
  const service = { Authorization: `Service ${result.accessToken}` };
  const user = { username: `guest.${guest}`, password: "correct horse" };
  if (guest % 4 !== 0) {
    const { result: signedUp } = await send(`${url}/users`, "POST", user, service);
    const own = { Authorization: `Service ${signedUp.accessToken}` };
    await send(`${url}/checkins`, "POST", { location: "48.2082,16.3738" }, own);
  }
  if (guest === guestCount) await send(`${url}/devices/current/crashreports`, "POST", crash, service);
}

async function walk(url: string, app: object, person: (typeof people)[number], index: number): Promise<void> {
  const { firstName, lastName, location, ...facts } = person;
  const version = { appVersion: index % 3 === 0 ? "2.4.0" : "2.4.1", osVersion: "26.1" };
  const device = await send(`${url}/devices`, "POST", { ...app, ...facts, ...version });
  const service = { Authorization: `Service ${device.result.accessToken}` };
  const username = `${firstName}.${lastName}`.toLowerCase();
  const user = { username, password: "correct horse", firstName, lastName, email: `${username}@example.com` };
  const { result } = await send(`${url}/users`, "POST", user, service);
  const own = { Authorization: `Service ${result.accessToken}` };
  for (let at = 0; at <= index % 3; at += 1)
    await send(`${url}/checkins`, "POST", { location, comment: "A view worth the stairs" }, own);
  await send(`${url}/metrics/events/walk`, "POST", { values: { minutes: 20 + 7 * index, season: "autumn" } }, service);
  const wrong = index % 2 === 0 ? { username, password: "wrong horse" } : { username: "nobody", password: "horse" };
  await refuse(`${url}/users/login`, "POST", service, wrong);
  if (index % 3 === 1) await refuse(`${url}/checkins`, "POST", own, { location: "north of the river" });
  if (index % 4 === 2) await refuse(`${url}/checkins/chk_0000000000000000`, "GET", own);
}

/** A call that the service refuses. */
async function refuse(url: string, method: string, headers: Record<string, string>, body?: object): Promise<void> {
  const text = body === undefined ? null : JSON.stringify(body);
  const { ok } = await fetch(url, { method, headers: { ...headers, "Content-Type": "application/json" }, body: text });
  if (ok) throw new Error(`${method} ${url} was not refused`);
}
