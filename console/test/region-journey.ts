import assert from "node:assert/strict";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { watchPages } from "./profiles.ts";
import { otherRegion, startMainRegion } from "./servers.ts";
import { type Checks, connect, signIn } from "./suite.ts";

const [oldest, arriving] = ["app_0mwwseg7p0000iuwce3ixulqc0", "app_0mwwseg7p0000iuwce3ixulqc1"];

/** The database makes no difference to it. */
export const regionJourney: Checks = {
  async "the list of applications names their regions and what is being imported, and leads to other regions"({
    browser,
  }) {
    const server = await startMainRegion();
    const misdeeds: string[] = [];
    const page = await watchPages(browser, server.url, {}, misdeeds);
    try {
      const call = await connect(server);
      const { result: application } = await call("POST", "/applications", { name: "Parcels" });
      const database = new DatabaseSync(path.join(server.dataDir ?? "", "rollcall.db"), { timeout: 60_000 });
      const insert =
        "insert into application_regions (application_id, region, state, changed_at) values (?, 'eu', ?, ?)";
      database.prepare(insert).run(oldest, "there", Date.now());
      const hidden = `insert into applications (application_id, name, token_version, created_at, deleted_at, importing_until)
        values (?, 'On its way', 0, 1, 1, ?)`;
      database.prepare(hidden).run(arriving, Date.now() + 600_000);
      database.close();

      await page.goto(`${server.url}/_/console/`);
      await signIn(page, server);
      await page.goto(`${server.url}/_/console/#/apps`);
      const rows = async () => (await page.locator("[data-index]").allInnerTexts()).map((text) => text.split("\n"));
      await page.getByRole("row").filter({ hasText: "Elsewhere" }).waitFor();
      assert.deepEqual(
        (await rows()).map(([name]) => name),
        ["An application in eu", "On its way", "Parcels"],
      );
      const ofParcels = page.getByRole("row").filter({ hasText: "Parcels" });
      assert.equal(await ofParcels.getByRole("gridcell").nth(2).innerText(), "main");

      await page.goto(`${server.url}/_/console/#/apps?sortOrder=-created`);
      await page.locator("[data-index='0']").getByText("Parcels").waitFor();
      await page.goto(`${server.url}/_/console/#/apps?sortOrder=name&namePrefix=parc`);
      await page.getByRole("row").filter({ hasText: "Elsewhere" }).waitFor({ state: "detached" });
      await page.goto(`${server.url}/_/console/#/apps?state=elsewhere`);
      await page.locator("[data-index='0']").getByText("An application in eu").waitFor();
      assert.equal((await rows()).length, 1);

      await page.goto(`${server.url}/_/console/#/apps?state=importing`);
      await page.locator("[data-index='0']").getByText("Being imported").waitFor();
      assert.equal((await rows()).length, 1);
      await page.goto(`${server.url}/_/console/#/apps/${arriving}/users`);
      await page.getByText("This application is being imported").waitFor();
      await page.getByRole("heading", { level: 1, name: "On its way" }).waitFor();
      await page.goto(`${server.url}/_/console/#/apps?state=elsewhere`);
      await page.locator("[data-index='0']").getByText("An application in eu").waitFor();

      await page.evaluate(keepOpened);
      await page.locator("[data-index='0']").click();
      const panel = page.getByRole("complementary");
      await panel.getByRole("button", { name: "Open in eu" }).click();
      const opened: string[] = await page.evaluate(() => Reflect.get(globalThis, "opened"));
      assert.deepEqual(opened, [`${otherRegion}/_/console/#/apps/${oldest}/overview`, "noopener,noreferrer"]);
      assert.equal(await panel.getByRole("button", { name: /Delete|Rename|Suspend/ }).count(), 0);

      await page.goto(`${server.url}/_/console/#/`);
      const mails = page.getByRole("listitem").filter({ hasText: "Mails are written to files" });
      await mails.getByRole("link", { name: "See below" }).click();
      await page.waitForFunction(() => document.activeElement?.textContent?.startsWith("Settings that differ"));
      await page.goto(`${server.url}/_/console/#/apps?panel=${application.appid}`);
      await panel.getByRole("button", { name: /Rename/ }).waitFor();
      assert.deepEqual(misdeeds, []);
    } finally {
      await page.context().close();
      await server.stop();
    }
  },
};

/** Runs in the page: the other region does not exist. */
function keepOpened(): void {
  window.open = (address, _, features) => {
    Object.assign(globalThis, { opened: [address, features] });
    return null;
  };
}
