import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { startThrowaway } from "rollcall/testing";
import { watchPages } from "../profiles.ts";
import { type Checks, connect, signIn } from "../suite.ts";

export const otherOrigins: Checks = {
  async "a page of another port or host cannot call, embed or read with the cookie of the console"({
    server,
    browser,
  }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Private" });
    const strangers = await servePage("<!doctype html><title>stranger</title>");
    const page = await watchPages(browser, server.url, {}, []); // refusals are expected here, and no misdeed of the console
    try {
      await page.goto(`${server.url}/_/console/`);
      await signIn(page, server);
      for (const host of ["127.0.0.1", "localhost"]) {
        await page.goto(`http://${host}:${strangers.port}/`);
        const outcome = await page.evaluate(attack, { url: server.url, appid: application.appid });
        assert.deepEqual(outcome, {
          read: "refused",
          readWithHeader: "refused",
          embedded: "nothing",
          asScript: "refused",
        });
        const opened = page.waitForResponse((response) => response.url().endsWith("/keys"));
        await page.evaluate(follow, `${server.url}/_/api/applications/${application.appid}/keys`);
        assert.equal((await opened).status(), 401, "a link does not use the cookie");
        await page.waitForURL("**/keys");
      }
    } finally {
      await page.context().close();
      await strangers.close();
    }
    const { result } = await call("GET", "/applications");
    assert.ok(!result.pageResults.some(({ name }: { name: string }) => name === "stolen"));
  },

  async "servers on two ports of one host keep their sessions apart"({ server, browser }) {
    const other = await startThrowaway({ env: { PASSWORD_HASH_MEMORY_KIB: "8" } });
    const page = await watchPages(browser, server.url, {}, []);
    try {
      await page.goto(`${server.url}/_/console/`);
      await signIn(page, server);
      await page.goto(`${other.url}/_/console/`);
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await signIn(page, other);
      await page.getByRole("button", { name: /^Account/ }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await page.goto(`${server.url}/_/console/#/account`);
      await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    } finally {
      await page.context().close();
      await other.stop();
    }
  },
};

/** Serves this page at every address of a free port. */
async function servePage(content: string): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((_, response) => response.setHeader("Content-Type", "text/html").end(content));
  await once(server.listen(0), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Runs in the page of the stranger. */
async function attack({ url, appid }: { readonly url: string; readonly appid: string }) {
  const credentials = "include";
  const read = (address: string, options: RequestInit = {}) =>
    fetch(`${url}${address}`, { credentials, ...options }).then(
      (response) => response.text(),
      () => "refused",
    );
  const results = {
    read: await read(`/_/api/applications/${appid}`),
    readWithHeader: await read(`/_/api/applications/${appid}`, { headers: { "X-Rollcall-Console": "1" } }),
  };
  const body = JSON.stringify({ name: "stolen" });
  const blind = {
    method: "POST",
    mode: "no-cors",
    credentials,
    body,
    headers: { "Content-Type": "text/plain" },
  } as const;
  await fetch(`${url}/_/api/applications`, blind).catch(() => undefined);

  const frame = document.createElement("iframe");
  frame.src = `${url}/_/console/`;
  const loaded = new Promise((resolve) => {
    frame.onload = resolve;
  });
  document.body.append(frame);
  await loaded;
  let embedded = "nothing";
  try {
    if (frame.contentDocument !== null) embedded = "a readable page";
  } catch {
    // Of another origin, as it must be.
  }

  const element = document.createElement("script");
  element.src = `${url}/_/api/applications/${appid}`;
  const asScript = await new Promise((resolve) => {
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("refused");
    document.head.append(element);
  });
  return { ...results, embedded, asScript };
}

/** Runs in the page of the stranger. */
function follow(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  document.body.append(link);
  link.click();
}
