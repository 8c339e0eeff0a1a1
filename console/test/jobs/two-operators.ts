import assert from "node:assert/strict";
import { connect, type Setup } from "../suite.ts";
import { enter, goTo } from "./steps.ts";

export async function changeSettingTogether(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Shared ${hand.name}`;
  const call = await connect(server);
  const { result: application } = await call("POST", "/applications", { name });
  const settings = `/applications/${application.appid}/settings`;
  const page = await enter(setup);
  await goTo(setup, page, name, "Settings");
  await hand.press(page.getByRole("link", { name: "Tokens", exact: true }));
  const [ofUsers, ofDevices] = [
    page.getByLabel("User tokens", { exact: true }),
    page.getByLabel("Device tokens", { exact: true }),
  ];
  await hand.fill(ofUsers, "1"); // a day
  const other = { name: `Other ${hand.name}`, password: "a password of the other" };
  await call("POST", "/operators", { ...other, role: "editor" });
  await (await connect({ url: server.url, operator: other }))("PATCH", settings, {
    tokenLifetimes: { deviceMs: 7_200_000 },
  });
  await hand.press(page.getByRole("button", { name: "Save" }));
  await page.getByText("Another operator has changed the settings meanwhile.").waitFor();
  await page.getByText("Device tokens, theirs: 2 hours").waitFor();
  assert.equal(await ofUsers.inputValue(), "1");
  assert.equal(await ofDevices.inputValue(), "2"); // hours

  await hand.press(page.getByRole("button", { name: "Save" }));
  await page.getByText("Saved: Tokens.").waitFor();
  const { result: saved } = await call("GET", settings);
  assert.deepEqual(saved.tokenLifetimes, { deviceMs: 7_200_000, userMs: 86_400_000 });
  await hand.undo(page.locator("body"));
  await page.waitForFunction(
    () => document.querySelector<HTMLInputElement>("[name='tokenLifetimes.userMs']")?.value === "",
  );
  const { result: undone } = await call("GET", settings);
  assert.deepEqual(undone.tokenLifetimes, { deviceMs: 7_200_000 });
}
