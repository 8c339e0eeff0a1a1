import assert from "node:assert/strict";
import { settle } from "./looks/examine.ts";
import { type Checks, connect, openSignedIn, send } from "./suite.ts";

export const overviewJourney: Checks = {
  async "the overview shows what an application has and what was changed, over a range that is dragged or chosen"(
    setup,
  ) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "At a glance" });
    const { appid, appkey } = application;
    await send(`${server.url}/devices`, "POST", { appid, appkey, platform: "iOS" });
    await call("PATCH", `/applications/${appid}/settings`, { tokenLifetimes: { deviceMs: 7_200_000 } });
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/overview`);
    const latest = page
      .locator("section")
      .filter({ has: page.getByRole("heading", { name: "Latest in the audit log" }) });
    await latest.scrollIntoViewIfNeeded();
    const entry = latest.getByRole("listitem").filter({ hasText: server.operator.name });
    await entry.getByRole("link", { name: "Change application settings" }).waitFor();
    await entry.getByRole("link", { name: "Create application", exact: true }).waitFor();
    const devices = page.locator("dl > div").filter({ has: page.getByText("Devices", { exact: true }) });
    assert.equal(await devices.locator("dd").first().innerText(), "1");

    await page.keyboard.press("t");
    await page.getByRole("button", { name: "1 hour", exact: true }).click();
    await page.waitForFunction(() => location.hash.endsWith("?range=1h"));
    await settle(page); // the charts of another range are new ones
    const plot = page.locator(".u-over").first();
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    assert.ok(box !== null);
    await page.mouse.move(box.x + box.width / 4, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 40);
    await page.waitForFunction(() => {
      const selected = document.querySelector<HTMLElement>(".u-select");
      return selected !== null && selected.offsetWidth > 0;
    });
    await page.mouse.up();
    await page.waitForFunction(() => /from=.+&to=/.test(location.hash));
    await page.keyboard.press("Backspace");
    await page.waitForFunction(() => location.hash.endsWith("?range=1h"));

    await page.getByRole("button", { name: "Calls as a table" }).click();
    await page.getByRole("group", { name: "Calls, numbers" }).waitFor();
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Paused" }).waitFor();
  },
};
