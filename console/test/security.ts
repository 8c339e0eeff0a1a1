import assert from "node:assert/strict";
import { type Checks, connect, signIn } from "./suite.ts";

const hostileNames = [
  '<img src=x onerror="document.title=1">',
  "</script><script>document.title=1</script>",
  "\u202Egnp.exe",
  "{{constructor.constructor('document.title=1')()}}",
  "javascript:alert(1)",
];

export const security: Checks = {
  async "texts of apps stay texts, and direction marks are shown"({ open, server }) {
    const call = await connect(server);
    for (const name of hostileNames) await call("POST", "/applications", { name });
    const page = await open();
    await signIn(page, server);
    await page.getByRole("row").filter({ hasText: "<img src=x" }).press("Space");
    await page.getByRole("complementary", { name: /<img src=x/ }).waitFor();
    await page.getByRole("row").filter({ hasText: "⟨202E⟩gnp.exe" }).waitFor();
    assert.equal(await page.title(), "Applications · Rollcall");
    assert.equal(await page.locator("main img, main script").count(), 0);
  },

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
