import { connect, type Setup } from "../suite.ts";
import { enter, goTo, registerDevice, statusOf } from "./steps.ts";

const callsAtOnce = 20;

export async function changeLimits(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Limited ${hand.name}`;
  const { result: application } = await (await connect(server))("POST", "/applications", { name });
  const device = await registerDevice(server.url, application);
  /** Calls as the device until the limits refuse a call, or none of many concurrent calls. */
  async function callUntil(isRefused: boolean): Promise<void> {
    for (;;) {
      const calls = Array.from({ length: callsAtOnce }, () => statusOf(`${server.url}/devices/current`, device));
      if ((await Promise.all(calls)).includes(429) === isRefused) return;
    }
  }

  await callUntil(false);
  const page = await enter(setup);
  await goTo(setup, page, name, "Settings");
  await hand.press(page.getByRole("link", { name: "Limits", exact: true }));
  const ofDevice = page.getByRole("group", { name: "Each device" }).getByRole("textbox");
  await hand.fill(ofDevice.first(), "1"); // a second
  await hand.fill(ofDevice.last(), "1"); // per burst
  await hand.press(page.getByRole("button", { name: "Save" }));
  await page.getByText("Saved: Limits.").waitFor();
  await callUntil(true);
  await hand.undo(page.locator("body"));
  await callUntil(false);
}
