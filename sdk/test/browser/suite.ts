import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { styleText } from "node:util";
import { build } from "esbuild";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { longSessions, startTestApp, type TestApp } from "../../../server/test/harness.ts";
import type { EventFilter } from "../../src/events.ts";
import { until } from "../clients.ts";
import { storeRules } from "../store-rules.ts";
import { walkExample } from "./example.ts";
import { playLinks, readTexts, showInIsolation } from "./files.ts";

const dayMs = 86_400_000;
const password = "correct horse";
/** Without these, Chromium contacts its maker. */
const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

interface Setup {
  readonly app: TestApp;
  readonly context: BrowserContext;
  /** Opens a tab that has loaded the client. */
  openTab(): Promise<Page>;
}

/** Runs all checks in a browser with an empty profile, against a server of another origin. */
export async function runBrowserSuite(executablePath: string): Promise<Counts> {
  const profile = mkdtempSync(path.join(tmpdir(), "rollcall-browser-"));
  const app = await startTestApp(longSessions);
  const pages = await servePage();
  const context = await chromium.launchPersistentContext(profile, { executablePath, args: quiet });
  const { port } = pages.address() as AddressInfo;
  async function openTab(): Promise<Page> {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.waitForFunction(() => "kit" in globalThis);
    return page;
  }
  const counts = { passed: 0, failed: 0 };
  for (const [title, check] of Object.entries(checks)) {
    try {
      await check({ app, context, openTab });
      counts.passed += 1;
      console.log(`${styleText("green", "ok    ")} ${title}`);
    } catch (error) {
      counts.failed += 1;
      console.log(`${styleText("red", "failed")} ${title}\n`, error);
    }
    for (const page of context.pages().slice(1)) await page.close();
  }
  await context.close();
  pages.closeAllConnections();
  pages.close();
  await app.close();
  rmSync(profile, { recursive: true, force: true });
  return counts;
}

const checks: Readonly<Record<string, (setup: Setup) => Promise<void>>> = {
  ...Object.fromEntries(Object.keys(storeRules).map((title) => [`indexedDbStore: ${title}`, checkRule(title)])),

  async "indexedDbStore: a connection that the browser has closed is opened again"({ openTab }) {
    const tab = await openTab();
    const value = await tab.evaluate(async () => {
      const store = kit.indexedDbStore();
      await store.set("key", "lost with the database");
      await kit.deleteDatabase();
      await store.set("key", "value");
      return store.get("key");
    });
    assert.equal(value, "value");
  },

  async "two tabs register at once and are one device"({ app, openTab }) {
    const tabs = [await openTab(), await openTab()];
    await Promise.all(tabs.map((tab) => createClient(tab, app)));
    const ids = await Promise.all(
      tabs.map((tab) => tab.evaluate(async () => (await kit.client?.send(kit.getDevice()))?.id)),
    );
    assert.equal(new Set(ids).size, 1);
    assert.equal(await countDevices(app), 1);
  },

  async "a session is there after a reload, without another registration"({ app, context, openTab }) {
    const tab = await openTab();
    await createClient(tab, app);
    const userId = await signUp(tab, "reloading");
    const requests = recordRequests(context, app);
    await tab.reload();
    await tab.waitForFunction(() => "kit" in globalThis);
    await createClient(tab, app);
    assert.equal(await ownId(tab), userId);
    assert.ok(!requests.includes("POST /devices"));
  },

  async "two tabs renew a token at once, and have one session"({ app, context, openTab }) {
    const tabs = [await openTab(), await openTab()];
    for (const tab of tabs) await createClient(tab, app);
    const [first, second] = tabs;
    assert.ok(first && second);
    const userId = await signUp(first, "renewing");
    await waitForUser(second, userId);
    const old = await tokenOf(first);
    const requests = recordRequests(context, app);
    app.advance(16 * dayMs);
    for (const tab of tabs) await tab.evaluate(advanceClock, 16 * dayMs);
    await Promise.all(tabs.map(ownId));
    for (const tab of tabs) await until(async () => (await tokenOf(tab)) !== old);
    assert.equal(await tokenOf(first), await tokenOf(second));
    const renewals = requests.filter((request) => request === "POST /users/me/tokens").length;
    // A tab whose lock is not free within three seconds renews without it, which does no harm.
    assert.ok(renewals === 1 || renewals === 2, `${renewals} renewals`);
    const { body } = await app.call("GET /users/me/tokens", { token: `${await tokenOf(first)}` });
    assert.equal(body.result.pageResults.length, 1);
  },

  async "a sign-out in one tab is seen in the other"({ app, openTab }) {
    const [first, second] = [await openTab(), await openTab()];
    for (const tab of [first, second]) await createClient(tab, app);
    const userId = await signUp(first, "leaving");
    await waitForUser(second, userId);
    const token = await tokenOf(second);
    await first.evaluate(() => kit.client?.session?.signOut());
    await second.waitForFunction((id) => kit.client?.sessions.every((session) => session.userId !== id), userId);
    assert.equal((await app.call("GET /users/me", { token: `${token}` })).status, 401);
  },

  async "a captive portal signs no user out, in neither tab"({ app, context, openTab }) {
    const tabs = [await openTab(), await openTab()];
    for (const tab of tabs) await createClient(tab, app);
    const [first, second] = tabs;
    assert.ok(first && second);
    const userId = await signUp(first, "travelling");
    await waitForUser(second, userId);
    await context.route(`${app.url}/**`, (route) =>
      route.fulfill({ contentType: "text/html", body: "<html>Sign in to this network</html>" }),
    );
    for (const tab of tabs) assert.equal(await ownId(tab), "UnexpectedAnswer");
    await context.unroute(`${app.url}/**`);
    for (const tab of tabs) assert.equal(await ownId(tab), userId);
  },

  async "tabs share one stream, and another tab goes on when the one with the stream is closed"(setup) {
    const { tabs, checkIn, streams } = await openFollowers(setup, "closing");
    await checkIn("1");
    for (const tab of tabs) await waitUntilTold(tab, ["ready", "1"]);
    assert.equal(streams(), 1);
    await tabs[0].close();
    await checkIn("2");
    await waitUntilTold(tabs[1], ["ready", "1", "2"]);
    assert.equal(streams(), 2);
  },

  async "another tab takes the stream over from a tab that stands still, which later has missed nothing"(setup) {
    const { tabs, checkIn, streams } = await openFollowers(setup, "freezing");
    const [first, second] = tabs;
    const debug = await setup.context.newCDPSession(first);
    await debug.send("Debugger.enable");
    await debug.send("Debugger.pause");
    await until(() => streams() === 2);
    await checkIn("1");
    await waitUntilTold(second, ["ready", "1"]);
    await debug.send("Debugger.disable");
    await checkIn("2");
    for (const tab of tabs) await waitUntilTold(tab, ["ready", "1", "2"]);
  },

  async "tabs with different filters share one stream, and a subscription that the service refuses ends alone"(setup) {
    const { app, openTab } = setup;
    const openStreams = () => app.app.streams.statistics().live;
    const { tabs, checkIn } = await openFollowers(setup, "sharing");
    const [ofAll] = tabs;
    const [ofLunch, ofNothing, ofDeletions] = [await openTab(), await openTab(), await openTab()];
    const followers: readonly { readonly tab: Page; readonly filter: EventFilter; readonly first: string }[] = [
      { tab: ofLunch, filter: { types: ["checkin.created"], tag: "lunch" }, first: "ready" },
      { tab: ofNothing, filter: { types: ["nothing.*" as never] }, first: "end ParameterIncorrectFormat" },
      { tab: ofDeletions, filter: { types: ["checkin.deleted"] }, first: "ready" },
    ];
    for (const { tab, filter, first } of followers) {
      await createClient(tab, app);
      await waitForUser(tab, await userOf(ofAll));
      await tab.bringToFront();
      await tab.evaluate((filter) => kit.follow(filter), filter);
      await waitUntilTold(tab, [first]);
    }
    await checkIn("1");
    const id = await checkIn("2", { tag: "lunch" });
    for (const tab of tabs) await waitUntilTold(tab, ["ready", "1", "2"]);
    await waitUntilTold(ofLunch, ["ready", "2"]);
    const { status } = await app.call(`DELETE /checkins/${id}`, { token: `${await tokenOf(ofAll)}` });
    assert.equal(status, 200);
    await waitUntilTold(ofDeletions, ["ready", "checkin.deleted"]);
    await waitUntilTold(ofNothing, ["end ParameterIncorrectFormat"]);
    // The stream that a change of the filters has replaced may still be closing.
    await until(() => openStreams() === 1);
  },

  async "an upload reports the bytes that the browser has sent, and is stored once"({ app, openTab }) {
    const tab = await openTab();
    await createClient(tab, app);
    await signUp(tab, "uploading");
    const { requests, reports, stored } = await tab.evaluate(async () => {
      const requests: string[] = [];
      const { open } = XMLHttpRequest.prototype;
      XMLHttpRequest.prototype.open = function (method: string, url: string | URL) {
        requests.push(method);
        open.call(this, method, url, true);
      };
      const reports: { readonly done: number; readonly total: number | undefined }[] = [];
      const onProgress = (progress: (typeof reports)[number]) => void reports.push(progress);
      const blob = await kit.client?.blobs.create(new Blob([new Uint8Array(2_000_000)]), {}, { onProgress });
      return { requests, reports, stored: blob?.contentLength };
    });
    assert.deepEqual(requests, ["POST"]);
    assert.equal(stored, 2_000_000);
    const last = reports.at(-1);
    assert.ok(last !== undefined && last.done === last.total && last.done > 2_000_000);
    assert.deepEqual(
      reports,
      reports.toSorted((a, b) => a.done - b.done),
    );
  },

  async "a source that opens a stream is uploaded over HTTP/1.1, with and without progress"({ app, openTab }) {
    const tab = await openTab();
    await createClient(tab, app);
    await signUp(tab, "streaming");
    const stored = await tab.evaluate(async () => {
      const bytes = new Blob(["a".repeat(100_000)]);
      const source = { open: () => bytes.stream(), length: bytes.size };
      const done: number[] = [];
      const first = await kit.client?.blobs.create(source);
      const second = await kit.client?.blobs.create(
        source,
        {},
        { onProgress: (progress) => void done.push(progress.done) },
      );
      return { lengths: [first?.contentLength, second?.contentLength], isReported: (done.at(-1) ?? 0) > 100_000 };
    });
    assert.deepEqual(stored, { lengths: [100_000, 100_000], isReported: true });
  },

  async "a download that is cut rejects with ConnectionError, however it is read"({ app, openTab }) {
    const tab = await openTab();
    await createClient(tab, app);
    await signUp(tab, "downloading");
    const errors = await tab.evaluate(async () => {
      const blob = await kit.client?.blobs.create(new Blob(["hello"]));
      const { fetch } = globalThis;
      globalThis.fetch = async (input, init) => {
        const answer = await fetch(input, init);
        if (!`${input}`.endsWith("/file")) return answer;
        return new Response("hel", { headers: { "content-length": "5", "content-disposition": "attachment" } });
      };
      const errors: string[] = [];
      for (const read of ["blob", "text"] as const) {
        const download = await kit.client?.blobs.download(blob?.id ?? "");
        await download?.[read]().catch((error: Error) => errors.push(error.name));
      }
      return errors;
    });
    assert.deepEqual(errors, ["ConnectionError", "ConnectionError"]);
  },

  "films and sounds play when their link is opened": ({ app, context }) => playLinks(app, context),
  "a text whose link is opened is shown in its charset": ({ app, context }) => readTexts(app, context),
  "a page that isolates itself shows pictures": ({ app, context }) => showInIsolation(app, context),

  "examples/web: two tabs, a check-in with a photo, and a wrong password": ({ context }) => walkExample(context),
};

function checkRule(title: string): (setup: Setup) => Promise<void> {
  return async ({ openTab }) => {
    const tab = await openTab();
    await tab.evaluate(async (title) => {
      await kit.deleteDatabase();
      await kit.storeRules[title]?.(kit.indexedDbStore());
      await kit.deleteDatabase();
    }, title);
  };
}

/** Two tabs of one user, each with a subscription to new check-ins; the first one has the stream. */
async function openFollowers({ app, context, openTab }: Setup, userName: string) {
  const tabs = [await openTab(), await openTab()] as const;
  const [first, second] = tabs;
  for (const tab of tabs) await createClient(tab, app);
  await waitForUser(second, await signUp(first, userName));
  const requests = recordRequests(context, app);
  for (const tab of tabs) {
    await tab.bringToFront();
    await tab.evaluate(() => kit.follow({ types: ["checkin.created"], userID: "me" }));
    await waitUntilTold(tab, ["ready"]);
  }
  const token = await tokenOf(second);
  return {
    tabs,
    streams: () => requests.filter((request) => request === "GET /events/stream").length,
    async checkIn(comment: string, fields: object = {}): Promise<string> {
      const given = { location: "48.2,16.37", comment, ...fields };
      const { status, body } = await app.call("POST /checkins", { token: `${token}`, body: given });
      assert.equal(status, 201);
      return body.result.id;
    },
  };
}

async function waitUntilTold(tab: Page, told: readonly string[]): Promise<void> {
  await tab.waitForFunction((told) => JSON.stringify(kit.told) === told, JSON.stringify(told), { polling: 100 });
}

/** Creates the client of a tab, which keeps its state in IndexedDB. */
async function createClient(tab: Page, { url, application }: TestApp): Promise<void> {
  const { appid, appkey } = application;
  await tab.evaluate(
    async (options) => {
      kit.client = kit.createRollcall({ ...options, retry: false });
      await kit.client.ready();
    },
    { url, appid, appkey },
  );
}

function signUp(tab: Page, userName: string): Promise<string | undefined> {
  return tab.evaluate(async (input) => (await kit.client?.signUp(input))?.userId, { userName, password });
}

/** The id of the current user according to the service, or the name of the error. */
function ownId(tab: Page): Promise<string | undefined> {
  return tab.evaluate(async () => {
    try {
      return (await kit.client?.send(kit.getOwnUser()))?.id;
    } catch (error) {
      return error instanceof Error ? error.name : `${error}`;
    }
  });
}

function tokenOf(tab: Page): Promise<string | undefined> {
  return tab.evaluate(() => kit.client?.session?.handoff().token);
}

function userOf(tab: Page): Promise<string | undefined> {
  return tab.evaluate(() => kit.client?.session?.userId);
}

async function waitForUser(tab: Page, userId: string | undefined): Promise<void> {
  await tab.waitForFunction((id) => kit.client?.session?.userId === id, userId);
}

async function countDevices(app: TestApp): Promise<number> {
  const { token } = await app.createOperator();
  const { body } = await app.call(`GET /_/api/applications/${app.application.appid}/devices`, { token });
  return body.result.pageResults.length;
}

/** Method and path of the requests to the service from now on. */
function recordRequests(context: BrowserContext, app: TestApp): string[] {
  const requests: string[] = [];
  context.on("request", (request) => {
    if (request.url().startsWith(app.url)) requests.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  return requests;
}

/** Runs in a page: moves its clock. */
function advanceClock(ms: number): void {
  const now = Date.now;
  Date.now = () => now() + ms;
}

/** Serves a page with the client, bundled. */
async function servePage(): Promise<Server> {
  const { outputFiles } = await build({
    entryPoints: [path.join(import.meta.dirname, "page.ts")],
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  const script = outputFiles[0]?.text ?? "";
  const server = createServer(({ url }, response) => {
    const isScript = url === "/client.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : '<!doctype html><script type="module" src="/client.js"></script>');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
