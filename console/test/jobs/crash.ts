import { connect, type Setup, send } from "../suite.ts";
import { enter, goTo, statusOf } from "./steps.ts";

export async function resolveCrash(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Crashing ${hand.name}`;
  const { result: credentials } = await (await connect(server))("POST", "/applications", { name });
  async function crashIn(appVersion: string): Promise<void> {
    const { result } = await send(`${server.url}/devices`, "POST", { ...credentials, platform: "iOS", appVersion });
    const stackTrace = "TypeError: no title\n    at draw (screen.js:12:3)";
    const headers = { Authorization: `Service ${result.accessToken}` };
    await statusOf(`${server.url}/devices/current`, headers);
    await send(`${server.url}/devices/current/crashreports`, "POST", { stackTrace }, headers);
  }

  await crashIn("1.9");
  const page = await enter(setup);
  await goTo(setup, page, name, "Crashes");
  await hand.open(page.getByRole("row").filter({ hasText: "TypeError: no title" }));
  const before = page.getByRole("heading", { name: "The same device, five minutes before" }).locator("..");
  await before.getByRole("listitem").filter({ hasText: "200" }).first().waitFor();
  await hand.press(page.getByRole("button", { name: "Resolve …" }));
  const dialog = page.getByRole("dialog");
  await hand.fill(dialog.getByLabel("In version"), "2.1");
  await hand.press(dialog.getByRole("button", { name: "Resolve", exact: true }));
  await page.getByText("Resolved in 2.1", { exact: true }).waitFor();
  await hand.undo(page.locator("body"));
  await page.getByRole("button", { name: "Resolve …" }).waitFor();
  await hand.press(page.getByRole("button", { name: "Resolve …" }));
  await hand.fill(dialog.getByLabel("In version"), "2.1");
  await hand.press(dialog.getByRole("button", { name: "Resolve", exact: true }));
  await page.getByText("Resolved in 2.1", { exact: true }).waitFor();

  await crashIn("2.0.9");
  await page.reload();
  await page.getByText("2 reports from 2 devices").waitFor();
  await page.getByText("Resolved in 2.1", { exact: true }).waitFor();
  await crashIn("2.1");
  await page.reload();
  await page.getByText("3 reports from 3 devices").waitFor();
  await page.getByText("Came back", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Resolve …" }).waitFor();
}
