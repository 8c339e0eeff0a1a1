import { type Checks, connect, openSignedIn, send } from "./suite.ts";

/** The calls of apps: seen, understood and tried. */
export const callJourneys: Checks = {
  async "a refused call appears by itself, and its panel says what it means and what came before"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Refused" });
    const { appid, appkey } = application;
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/requests`);
    await page.getByRole("heading", { name: "No calls" }).waitFor();

    const { result: device } = await send(`${server.url}/devices`, "POST", { appid, appkey, platform: "iOS" });
    const headers = { Authorization: `Service ${device.accessToken}`, "Content-Type": "application/json" };
    await fetch(`${server.url}/users`, { method: "POST", headers, body: '{"username": "ada", "password": "x"}' });
    await page.getByRole("row").filter({ hasText: "registerDevice" }).waitFor();
    await page.getByRole("row").filter({ hasText: "createUser" }).click();
    const panel = page.getByRole("complementary", { name: "createUser" });
    await panel.getByText("What a client does").waitFor();
    await panel.getByText("The same device, five minutes before").waitFor();
    await page.getByText("Paused").waitFor();

    await send(`${server.url}/users`, "POST", { username: "ada", password: "correct horse" }, headers);
    await page.keyboard.press("Escape");
    await page.keyboard.press("p");
    await page.getByRole("row").filter({ hasText: "200" }).filter({ hasText: "createUser" }).waitFor();
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("menuitem", { name: "Refused or failed" }).click();
    await page.getByLabel("Refused or failed").selectOption("only");
    await page.getByRole("button", { name: "Remove Refused or failed" }).waitFor();
    await page.getByRole("row").filter({ hasText: "registerDevice" }).waitFor({ state: "detached" });
  },

  async "a refused call is tried in the explorer as a test user, and a failure is rehearsed"(setup) {
    const { server } = setup;
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Tried" });
    const { appid, appkey } = application;
    const { result: device } = await send(`${server.url}/devices`, "POST", { appid, appkey, platform: "iOS" });
    const headers = { Authorization: `Service ${device.accessToken}`, "Content-Type": "application/json" };
    const { result: ada } = await send(
      `${server.url}/users`,
      "POST",
      { username: "ada", password: "correct horse" },
      headers,
    );
    const asAda = { ...headers, Authorization: `Service ${ada.accessToken}` };
    await fetch(`${server.url}/checkins`, { method: "POST", headers: asAda, body: '{"location": "far"}' });
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/requests`);
    await page.getByRole("row").filter({ hasText: "createCheckin" }).click();
    await page.getByRole("link", { name: "Try it" }).click();
    await page.getByRole("heading", { level: 1, name: "Explorer" }).waitFor();
    const answer = page.getByRole("region", { name: "Answer" });
    await page.getByLabel("location (required)").fill("far");
    await page.getByRole("button", { name: "Send" }).click();
    await answer.getByText("ParameterIncorrectFormat").waitFor();
    await page.getByLabel("location (required)").fill("48.2,16.37");
    await page.getByRole("button", { name: "SDK" }).click();
    await page.getByText("createCheckin({ location: { lat: 48.2, lng: 16.37 } })").waitFor();
    await page.getByText("Body as JSON").click();
    await page.getByRole("button", { name: "Send" }).click();
    await answer.getByText("201", { exact: true }).waitFor();
    await answer.getByRole("link", { name: "In the requests" }).click();
    await page.getByRole("row").filter({ hasText: "201" }).waitFor();

    await page.goto(`${server.url}/_/console/#/apps/${appid}/explorer?operation=streamEvents`);
    await page.getByRole("button", { name: "Send" }).click();
    await answer.getByText("200", { exact: true }).waitFor(); // although the stream stays open

    await page.goto(`${server.url}/_/console/#/apps/${appid}/rehearsals`);
    await page.getByRole("button", { name: "Switch on" }).click();
    await page.getByText("Rehearsal is on: any client").waitFor();
    await page.goto(`${server.url}/_/console/#/apps/${appid}/explorer?operation=getOwnUser`);
    await page.getByText("failures that it declares").click();
    const row = page.getByRole("listitem").filter({ hasText: "RateLimitExceeded" });
    await row.getByRole("button", { name: "Rehearse" }).click();
    await answer.getByText("429", { exact: true }).waitFor();
    const banner = page.getByText("Rehearsal is on: any client");
    await page.getByRole("button", { name: "End it" }).click();
    await banner.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).last().click();
    await banner.waitFor();
    await page.getByRole("link", { name: "Rehearsals" }).first().click();
    await page.getByRole("button", { name: "Switch off" }).click();
    await banner.waitFor({ state: "detached" });
  },
};
