import { connect, type Setup } from "../suite.ts";
import { enter, goTo, registerDevice } from "./steps.ts";

export async function lookAround(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Watched ${hand.name}`;
  const { result: application } = await (await connect(server))("POST", "/applications", { name });
  const device = await registerDevice(server.url, application);
  const headers = { ...device, "Content-Type": "application/json" };
  await fetch(`${server.url}/users`, { method: "POST", headers, body: '{"username": "ada", "password": "x"}' });

  const page = await enter(setup);
  await goTo(setup, page, name, "Overview");
  await hand.press(page.getByRole("button", { name: "Calls as a table" }));
  await page.getByRole("group", { name: "Calls, numbers" }).waitFor();
  await hand.press(page.getByRole("button", { name: "Compare" }));
  await page.waitForFunction(() => location.hash.endsWith("?compare=before"));

  const follow = async (screen: string, heading = screen) => {
    const links = page.locator("nav:not([aria-label=Deployment])").getByRole("link", { name: screen, exact: true });
    await hand.press(links);
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
  };
  await follow("Start");
  await page.getByRole("complementary", { name: "What has arrived" }).getByText("First device").waitFor();
  await hand.press(page.getByRole("button", { name: "Make a key" }));
  await page.locator("ol pre").filter({ hasText: '"appkey": "rk_' }).waitFor();

  await follow("Requests");
  await hand.open(page.getByRole("row").filter({ hasText: "createUser" }));
  const panel = page.getByRole("complementary", { name: "createUser" });
  await panel.getByText("What a client does").waitFor();
  await hand.press(panel.getByRole("link", { name: "Try it" }));
  await page.getByRole("heading", { level: 1, name: "Explorer" }).waitFor();

  await follow("Application log", "Application log");
  await hand.press(page.getByRole("button", { name: "Filter" }));
  await hand.press(page.getByRole("menuitem", { name: "Changes by operators" }));
  await page.getByRole("button", { name: "Remove Kind of actor" }).waitFor();
  await hand.open(page.getByRole("row").filter({ hasText: "Create application key" }));
  await hand.press(page.getByRole("button", { name: "All of this kind" }));
  await page.getByRole("button", { name: "Remove Action" }).waitFor();
}
