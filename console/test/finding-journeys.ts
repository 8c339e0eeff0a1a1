import assert from "node:assert/strict";
import { registerDevice } from "./jobs/steps.ts";
import { type Checks, connect, openSignedIn, send } from "./suite.ts";

/** Objects among many others. */
export const findingJourneys: Checks = {
  async "a user is found by the last name in the list, in the palette, and from the pages of the deployment"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Many names" });
    const users = `/applications/${application.appid}/users`;
    const grace = { username: "gh101", password: "correct horse", firstName: "Grace", lastName: "Hopper" };
    await call("POST", users, { ...grace, email: "grace@names.example" });
    await call("POST", users, { ...grace, username: "hopper9", firstName: "Ivo", lastName: "Кузнецов" });
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/users`);
    await page.getByPlaceholder("Name, e-mail, identity or id").fill("hopper");
    await page.getByRole("row").filter({ hasText: "gh101" }).waitFor();
    await page.getByRole("row").filter({ hasText: "hopper9" }).waitFor();
    await page.getByPlaceholder("Name, e-mail, identity or id").fill("кузнец");
    await page.getByRole("row").filter({ hasText: "gh101" }).waitFor({ state: "detached" });
    await page.getByRole("row").filter({ hasText: "hopper9" }).waitFor();

    const option = page.getByRole("option", { selected: true });
    const find = async (text: string) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill(text);
    };
    await page.keyboard.press("Escape");
    await find("grace hop");
    await option.filter({ hasText: "Grace Hopper · grace@names.example" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("combobox").waitFor({ state: "detached" });
    await page.goto(`${server.url}/_/console/#/operators`);
    await page.getByRole("heading", { level: 1, name: "Operators" }).waitFor();
    await find("Hopper, Gr");
    await option.filter({ hasText: "User by name in Many names" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "gh101" }).waitFor();
    await page.getByRole("navigation", { name: "Breadcrumb" }).getByText("gh101").waitFor();
  },

  async "requests go back through all that the server keeps, and say from when on they are complete"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Many calls" });
    const headers = await registerDevice(server.url, application);
    for (let n = 0; n < 230; n += 1) await send(`${server.url}/devices/current`, "GET", undefined, headers);
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/requests`);
    const rows = page.getByRole("row");
    await rows.filter({ hasText: "getDevice" }).first().waitFor();
    await page.getByText("earlier calls follow at the end of the list").waitFor();
    await rows.nth(1).focus();
    while ((await rows.filter({ hasText: "registerDevice" }).count()) === 0) {
      await page.keyboard.press("End");
      await page.waitForTimeout(50);
    }
    await page.getByText("231 calls, and no earlier one is kept").waitFor();
    await page.getByText("a restart of the server empties the list").waitFor();
  },
};

/** Built-in functions of a browser. */
export const typingJourneys: Checks = {
  async "what is typed right after the keys of the palette is in its field"(setup) {
    const { server } = setup;
    const page = await setup.openSession();
    await page.route(/palette/, () => undefined); // a part that is loaded later would never come
    await page.goto(`${server.url}/_/console/#/audit`);
    await page.getByRole("heading", { level: 1, name: "Deployment log" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("user101@example.org");
    assert.equal(await page.locator(":focus").inputValue({ timeout: 10_000 }), "user101@example.org");
  },

  async "dates are English and Gregorian with Latin digits in any browser, in its time zone"(setup) {
    const { server } = setup;
    const year = `${new Date().getFullYear()}`;
    for (const locale of ["de-DE", "ar-EG", "fa-IR", "th-TH", "en-US", "ja-JP"]) {
      const page = await setup.openSession({ locale, timezoneId: "America/St_Johns" });
      await page.goto(`${server.url}/_/console/#/audit`);
      await page.locator("[data-index='0'] time").waitFor();
      const shown = await page.locator("[data-index='0'] time").innerText();
      assert.match(shown, /^[\x20-\x7e\u202f]+$/, `${locale}: ${shown}`);
      assert.match(shown, /(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)/, `${locale}: ${shown}`);
      assert.ok(shown.includes(year), `${locale}: ${shown}`);
      const iso = await page.locator("[data-index='0'] time").getAttribute("datetime");
      const minutes = new Date(iso ?? "").toLocaleTimeString("en", {
        minute: "2-digit",
        second: "2-digit",
        timeZone: "America/St_Johns",
      });
      assert.ok(shown.includes(minutes), `${locale}: ${shown} has ${minutes}`);
      await page.goto(`${server.url}/_/console/#/apps`);
      await page.locator("[data-index='0'], h2").first().waitFor();
      const times = await page.locator("time").allInnerTexts();
      for (const time of times) assert.match(time, /^[\x20-\x7e\u202f]+$/, `${locale}: ${time}`);
      await page.context().close();
    }
  },
};
