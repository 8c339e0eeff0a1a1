import assert from "node:assert/strict";
import { type Checks, connect, signIn } from "../suite.ts";

/** The security of the console's own page. */
export const pageSecurity: Checks = {
  async "nothing secret is in the address, the storage or the reach of scripts"({ open, server }) {
    const page = await open();
    await signIn(page, server);
    const seen = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    );
    assert.equal(seen, JSON.stringify([{}, {}, ""]));
    assert.ok(!page.url().includes(server.operator.password));
    const cookies = await page.context().cookies(`${server.url}/_/api/sessions/current`);
    assert.ok(cookies.length > 0);
    assert.ok(cookies.every(({ httpOnly, sameSite }) => httpOnly && sameSite === "Strict"));
  },

  async "a key is nowhere in the browser once its dialog is closed"({ openSession, server }) {
    const { result: application } = await (await connect(server))("POST", "/applications", { name: "Once" });
    const page = await openSession();
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/keys`);
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("Version 2");
    const answering = page.waitForResponse((response) => response.request().method() === "POST");
    await page.getByRole("button", { name: "Create" }).click();
    const key = (await page.getByRole("dialog").locator("code").textContent()) ?? "";
    assert.match(key, /^rk_/);
    assert.equal((await answering).headers()["cache-control"], "no-store");
    await page.getByText("I have stored it").click();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("row").filter({ hasText: "Version 2" }).waitFor();
    const left = await page.evaluate(async () => {
      const stores = { ...localStorage, ...sessionStorage };
      const caches = await window.caches.keys();
      const databases = await window.indexedDB.databases();
      return JSON.stringify([
        document.documentElement.outerHTML,
        location.href,
        history.state,
        stores,
        caches,
        databases,
      ]);
    });
    assert.ok(!left.includes(key));
  },

  async "a page that is framed, or that adds a script, gets nowhere"({ open, server }) {
    const page = await open();
    const response = await page.request.get(`${server.url}/_/console/`);
    const policy = response.headers()["content-security-policy"] ?? "";
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /require-trusted-types-for 'script'/);
    const ran = await page.evaluate(() => {
      try {
        document.body.innerHTML = "<b>markup</b>";
        return "markup";
      } catch (error) {
        return error instanceof TypeError ? "refused" : String(error);
      }
    });
    assert.equal(ran, "refused");
  },
};
