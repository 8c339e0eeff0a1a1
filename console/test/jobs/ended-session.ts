import assert from "node:assert/strict";
import { connect, type Setup } from "../suite.ts";
import { enter, goTo } from "./steps.ts";

export async function endSessionWhileTyping(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Interrupted ${hand.name}`;
  const call = await connect(server);
  const { result: application } = await call("POST", "/applications", { name });
  const page = await enter(setup, { isShared: false });
  await goTo(setup, page, name, "Settings");
  await hand.press(page.getByRole("link", { name: "Tokens", exact: true }));
  const field = page.getByLabel("User tokens", { exact: true });
  await hand.fill(field, "3");
  await page.context().clearCookies(); // as if the session had been revoked elsewhere
  await hand.press(page.getByRole("button", { name: "Save" }));

  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await hand.fill(dialog.getByLabel("Password"), server.operator.password);
  await hand.press(dialog.getByRole("button", { name: "Sign in" }));
  await dialog.waitFor({ state: "detached" });
  assert.equal(await field.inputValue(), "3");
  await hand.press(page.getByRole("button", { name: "Save" }));
  await page.getByText("Saved: Tokens.").waitFor();
  const { result: saved } = await call("GET", `/applications/${application.appid}/settings`);
  assert.deepEqual(saved.tokenLifetimes, { userMs: 3 * 86_400_000 });
}
