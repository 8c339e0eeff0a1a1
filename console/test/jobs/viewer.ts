import assert from "node:assert/strict";
import { connect, type Setup, send } from "../suite.ts";
import { enter, goTo, registerDevice } from "./steps.ts";

const screens = ["Users", "Devices", "Crashes", "Events", "Webhooks", "Keys", "Settings"];
const changing =
  /^(New|Create|Add|Edit|Rename|Suspend|Resume|Delete|Disable|Enable|Erase|End|Retire|Replace|Remove|Save|Set|Pause|Send|Make)\b/;

export async function lookAsViewer(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Viewed ${hand.name}`;
  const call = await connect(server);
  const { result: application } = await call("POST", "/applications", { name });
  const device = await registerDevice(server.url, application);
  await send(`${server.url}/users`, "POST", { username: "ada", password: "correct horse" }, device);
  const { result: viewer } = await call("POST", "/operators", { name: `Vera ${hand.name}`, role: "viewer" });

  const page = await enter({ ...setup, server: { ...server, operator: viewer } }, { isShared: false });
  await goTo(setup, page, name, "Users");
  for (const screen of screens) {
    await hand.press(page.getByRole("link", { name: screen, exact: true }));
    await page.getByRole("heading", { level: 1, name: screen }).waitFor();
    await page.getByRole("main").locator("[role=grid], h2").first().waitFor();
    const buttons = await page.getByRole("main").getByRole("button").allTextContents();
    assert.deepEqual(
      buttons.filter((text) => changing.test(text.trim())),
      [],
      screen,
    );
    assert.equal(await page.getByRole("button", { name: "Actions", exact: true }).count(), 0, screen);
  }
  assert.equal(await page.evaluate(rename, application.appid), 403);
}

/** Runs in the page, with the cookie of the operator. */
async function rename(appid: string): Promise<number> {
  const headers = { "X-Rollcall-Console": "1", "Content-Type": "application/json" };
  const response = await fetch(`../api/applications/${appid}`, { method: "PATCH", headers, body: '{"name": "Taken"}' });
  return response.status;
}
