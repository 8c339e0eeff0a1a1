import assert from "node:assert/strict";
import { connect, type Setup, send } from "../suite.ts";
import { enter, goTo, registerDevice } from "./steps.ts";

export async function findAnything(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Palette of colors ${hand.name}`;
  const call = await connect(server);
  const { result: application } = await call("POST", "/applications", { name });
  const headers = await registerDevice(server.url, { ...application, uniqueId: "palette-device" });
  const ada = { username: "ada.palette", password: "correct horse", email: "ada@palette.example" };
  await send(`${server.url}/users`, "POST", ada, headers);
  const { result: neighbour } = await call("POST", "/applications", { name: `Neighbour ${hand.name}` });
  const grace = { username: "grace.next.door", password: "correct horse" };
  const { result: stranger } = await call("POST", `/applications/${neighbour.appid}/users`, grace);
  const page = await enter(setup);
  await goTo(setup, page, name, "Keys");
  const isByMouse = hand.name.startsWith("by mouse");
  const box = page.getByRole("combobox");
  const open = async () => {
    await page.getByRole("heading", { level: 1 }).waitFor();
    if (isByMouse) await page.getByRole("button", { name: "Find anything" }).click();
    else await page.keyboard.press("Control+k");
    await box.waitFor();
  };
  const find = async (text: string, option: string) => {
    await open();
    await hand.fill(box, text);
    const found = page.getByRole("option", { selected: true }).filter({ hasText: option });
    await found.waitFor();
    if (isByMouse) await found.click();
    else await page.keyboard.press("Enter");
  };
  await find("ada@pal", "ada.palette");
  await page.getByRole("heading", { level: 1, name: "ada.palette" }).waitFor();
  await open();
  await hand.fill(box, "end");
  await page.getByRole("option", { selected: true }).filter({ hasText: "End all sign-ins" }).waitFor();
  assert.equal(await page.getByRole("option").filter({ hasText: "Suspend" }).count(), 0, "never inside a word");
  const ends = await page
    .getByRole("option")
    .filter({ hasText: /^End all/ })
    .allInnerTexts();
  assert.ok(ends[0]?.includes("ada.palette") && ends[1]?.includes(name), `the act of the user first: ${ends.join()}`);
  await page.keyboard.press("Escape");
  await box.waitFor({ state: "detached" });
  await find("disable", "Disable");
  await page.getByRole("button", { name: "Enable" }).waitFor();
  await hand.undo(page.locator("body"));
  await page.getByRole("button", { name: "Disable" }).waitFor();
  await find("palette-d", "palette-device");
  await page.getByText("palette-device").first().waitFor();
  await find(name.toLowerCase(), name);
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await find("suspend", "Suspend");
  const suspension = page.getByRole("alertdialog");
  await suspension.getByText("1 device", { exact: true }).waitFor();
  await suspension.getByText("1 user", { exact: true }).waitFor();
  await hand.press(suspension.getByRole("button", { name: "Suspend the application" }));
  const banner = page.getByText("This application is suspended");
  await banner.getByText(`By ${server.operator.name}, just now`).waitFor();
  await hand.undo(page.locator("body"));
  await banner.waitFor({ state: "detached" });
  await find(stranger.id, `Look in Neighbour ${hand.name}`);
  await page.getByRole("heading", { level: 1, name: "grace.next.door" }).waitFor();
  await find(name.toLowerCase(), name);
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

  await open();
  await page.getByRole("option").filter({ hasText: "ada.palette" }).filter({ hasText: "Recent" }).waitFor();
  await page.keyboard.press("Escape");
  await box.waitFor({ state: "detached" });
  await find("pause", "Pause");
  await page.getByRole("button", { name: "Paused" }).waitFor();
  await open();
  await hand.fill(box, "nothing is called so");
  await page.getByText("Nothing has this name or id.").waitFor();
  await page.keyboard.press("Escape");
  await box.waitFor({ state: "detached" });

  await hand.press(page.getByRole("navigation", { name: "Deployment" }).getByRole("link", { name: "Applications" }));
  await hand.fill(page.getByPlaceholder("Name", { exact: true }), name.toLowerCase());
  await page.waitForFunction(() => document.querySelectorAll("[role=row]").length === 2);
  await page.getByRole("row").filter({ hasText: name }).waitFor();
}
