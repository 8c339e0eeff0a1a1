import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readZip } from "../../../server/test/zips.ts";
import { connect, type Setup, send } from "../suite.ts";
import { confirm, enter, goTo, registerDevice, statusOf } from "./steps.ts";

export async function supportUser(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Support ${hand.name}`;
  const { result: application } = await (await connect(server))("POST", "/applications", { name });
  const device = await registerDevice(server.url, application);
  const { result: user } = await send(
    `${server.url}/users`,
    "POST",
    { username: "ada.lovelace", password: "correct horse", email: "ada@example.com" },
    device,
  );
  const identity = `${server.url}/users/me/identities/crm`;
  await send(identity, "POST", { identityId: "K-4711" }, { Authorization: `Service ${user.accessToken}` });
  const ofUser = { Authorization: `Service ${user.accessToken}` };
  const statusOfUser = () => statusOf(`${server.url}/users/me`, ofUser);

  const page = await enter(setup);
  await goTo(setup, page, name, "Users");
  const search = page.getByPlaceholder("Name, e-mail, identity or id");
  await hand.fill(search, "K-4711");
  await page.getByRole("row").filter({ hasText: "ada@example.com" }).waitFor();
  await hand.fill(search, "ada@example");
  await hand.open(page.getByRole("row").filter({ hasText: "ada@example.com" }));
  await page.getByRole("heading", { level: 1, name: "ada.lovelace" }).waitFor();

  await hand.press(page.getByRole("button", { name: "Disable" }));
  await page.getByRole("button", { name: "Enable" }).waitFor();
  assert.equal(await statusOfUser(), 403);
  await hand.undo(page.locator("body"));
  await page.getByRole("button", { name: "Disable" }).waitFor();
  assert.equal(await statusOfUser(), 200);

  const choose = async (action: RegExp) => {
    await hand.press(page.getByRole("button", { name: "More actions" }));
    await hand.press(page.getByRole("menuitem", { name: action }));
  };
  await choose(/^End all sign-ins/);
  await confirm(setup, page, "End all sign-ins");
  assert.equal(await statusOfUser(), 401);

  await page.goto(`${page.url().split("?")[0]}?tab=requests`);
  await page.getByRole("row").filter({ hasText: "addIdentity" }).filter({ hasText: "iOS" }).waitFor();
  await choose(/^Export/);
  const exporting = page.getByRole("dialog");
  await exporting.getByText("Identities").waitFor();
  const downloading = page.waitForEvent("download");
  await hand.press(exporting.getByRole("button", { name: "Export" }));
  const archive = await readZip(readFileSync(await (await downloading).path()));
  assert.ok([...archive.values()].some((content) => content.includes("ada@example.com")));

  await choose(/^Erase/);
  await confirm(setup, page, "Erase the user");
  await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  await page.getByText("No user has signed up yet").waitFor();
}
