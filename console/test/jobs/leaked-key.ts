import assert from "node:assert/strict";
import { connect, type Setup, send } from "../suite.ts";
import { confirm, enter, goTo, registerDevice, statusOf } from "./steps.ts";

export async function rotateLeakedKey(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Leaky ${hand.name}`;
  const { result: application } = await (await connect(server))("POST", "/applications", { name });
  const device = await registerDevice(server.url, application);
  const page = await enter(setup);
  await goTo(setup, page, name, "Keys");

  await hand.press(page.getByRole("button", { name: "New key" }));
  const creation = page.getByRole("dialog");
  await hand.fill(creation.getByLabel("Name"), "Version 2");
  await hand.press(creation.getByRole("button", { name: "Create" }));
  const key = (await creation.locator("code").textContent()) ?? "";
  await hand.tick(creation, "I have stored it");
  await hand.press(creation.getByRole("button", { name: "Done" }));
  await page.getByRole("row").filter({ hasText: "Version 2" }).waitFor();
  assert.ok(!(await page.content()).includes(key), "the key left the document with its dialog");

  const leaked = page.getByRole("row").filter({ hasNotText: "Version 2" }).filter({ hasText: "apk_" });
  await hand.choose(leaked, /^Retire/);
  await page.getByRole("alertdialog").getByText("1 device", { exact: true }).waitFor();
  await confirm(setup, page, "Retire the key");
  await leaked.getByText("Retired").waitFor();
  assert.equal(await statusOf(`${server.url}/devices/current`, device), 401);
  await send(`${server.url}/devices`, "POST", { appid: application.appid, appkey: key, platform: "iOS" });
}
