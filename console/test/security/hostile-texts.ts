import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { closedPort } from "../looks/content.ts";
import { openScreen, settle } from "../looks/examine.ts";
import { screens } from "../looks/screens.ts";
import { type Checks, connect, send } from "../suite.ts";

/**
 * Strings that other products have executed as markup, code or an address. They set the page title if the console does not
 * treat them as text.
 */
const texts = [
  '<img src=x onerror="document.title=1">',
  "</script><script>document.title=1</script>",
  '<svg onload="document.title=1">',
  '"onfocus="document.title=1" autofocus="',
  "{{constructor.constructor('document.title=1')()}}",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: another product's template
  "${document.title=1}",
  "javascript:document.title=1",
  "data:text/html,<script>document.title=1</script>",
  "__proto__",
  "constructor",
  "=1+1",
  "%00' OR 1=1 --",
  "../../etc/passwd",
  "\u202Egnp.exe",
  "👩‍🚀 שלום",
  `a${"\u0301".repeat(200)}`,
];

export const hostileTexts: Checks = {
  async "hostile texts of apps stay texts on every screen, and direction marks are shown"({ openSession, server }) {
    const call = await connect(server);
    const ids = await createHostileContent(server.url, call);
    const page = await openSession();
    const titles: string[] = [];
    await page.exposeFunction("noteTitle", (title: string) => titles.push(title));
    await page.addInitScript(watchTitle);
    page.on("dialog", (dialog) => {
      titles.push(dialog.message());
      void dialog.accept();
    });
    await page.reload();
    for (const screen of screens.filter(({ at }) => !/\$(empty|three|many)/.test(at))) {
      const { name } = screen;
      await openScreen(page, server.url, screen, ids);
      await settle(page);
      assert.equal(
        await page.locator("main img, main script, main iframe, main object, main [onfocus]").count(),
        0,
        name,
      );
      assert.equal(await page.locator('a[href^="javascript:"], a[href^="data:"]').count(), 0, name);
      assert.ok(!(await visibleText(page)).includes("\u202E"), `${name} shows a direction mark as such`);
    }
    assert.ok(!titles.includes("1"), titles.join(", "));
  },
};

/** Runs in the page before its scripts. */
function watchTitle(): void {
  const { noteTitle } = globalThis as typeof globalThis & { noteTitle: (title: string) => void };
  new MutationObserver(() => noteTitle(document.title)).observe(document, { subtree: true, childList: true });
}

function visibleText(page: Page): Promise<string> {
  return page.evaluate(() => document.body.innerText);
}

/**
 * Creates an application with each string in each field that apps and operators can set.
 * @returns the ids of the objects with the first string
 */
async function createHostileContent(
  url: string,
  call: Awaited<ReturnType<typeof connect>>,
): Promise<Record<string, string>> {
  const [first = ""] = texts;
  const { result: application } = await call("POST", "/applications", { name: first });
  const { appid, appkey } = application;
  await call("PATCH", `/applications/${appid}/settings`, { events: { record: "always" } });
  for (const name of texts) {
    const url = `${closedPort}/?${encodeURIComponent(name)}`;
    await call("POST", `/applications/${appid}/webhooks`, { url, types: ["*"], name });
  }
  let userId = "";
  for (const text of texts) {
    const facts = { uniqueId: text, platform: text, model: text, osVersion: text, appVersion: text, tag: text };
    const { result: device } = await send(`${url}/devices`, "POST", { appid, appkey, ...facts });
    const ofDevice = { Authorization: `Service ${device.accessToken}` };
    const profile = { password: "correct horse", firstName: text, lastName: text, email: text, tag: text };
    const { result: user } = await send(`${url}/users`, "POST", { username: text, ...profile }, ofDevice);
    const ofUser = { Authorization: `Service ${user.accessToken}` };
    await send(`${url}/checkins`, "POST", { location: "48.21,16.37", comment: text, tag: text }, ofUser);
    const identity = `${url}/users/me/identities/${encodeURIComponent(text)}`;
    await send(identity, "POST", { identityId: text }, ofUser);
    await send(`${url}/devices/current/crashreports`, "POST", { stackTrace: text, message: text }, ofUser);
    await call("POST", `/applications/${appid}/keys`, { label: text });
    if (text === first) userId = user.id;
  }
  for (const name of texts.toReversed()) await call("PATCH", `/applications/${appid}`, { name });
  const { result: devices } = await call("GET", `/applications/${appid}/devices`);
  const { result: webhooks } = await call("GET", `/applications/${appid}/webhooks`);
  const { result: crashes } = await call("GET", `/applications/${appid}/crashes`);
  return {
    appid,
    userId,
    deviceId: devices.pageResults.at(-1).id,
    fingerprint: crashes.pageResults.at(-1).fingerprint,
    webhookId: webhooks.pageResults.at(-1).id,
  };
}
