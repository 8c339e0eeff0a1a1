import { watchPages } from "./profiles.ts";
import { type Checks, connect, signIn } from "./suite.ts";

/** A server that does not answer, or not yet. */
export const waitingJourneys: Checks = {
  async "a page that cannot be loaded while the server is away says so, and is loaded once it is back"({
    browser,
    server,
  }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Away" });
    const page = await watchPages(browser, server.url, {}, []); // React logs the failure
    try {
      await page.goto(`${server.url}/_/console/`);
      await signIn(page, server);
      await page.goto(`${server.url}/_/console/#/apps/${application.appid}/devices`);
      await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
      await page.context().setOffline(true);
      await page.getByRole("link", { name: "Keys", exact: true }).click();
      await page.getByText("This page could not be loaded: the server cannot be reached.").waitFor();
      await page.context().setOffline(false);
      await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
    } finally {
      await page.context().close();
    }
  },

  async "a page whose code is on its way shows its heading, and says so when it takes long"({ openSession, server }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Slow" });
    const page = await openSession();
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route(/keys\.screen/, async (route) => {
      await promise;
      await route.continue();
    });
    await page.goto(`${server.url}/_/console/#/apps/${application.appid}/keys`);
    const main = page.locator("#main");
    await main.locator("p", { hasText: /^Keys$/ }).waitFor();
    await main.getByText("Still waiting for the server").waitFor();
    resolve();
    await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
    await main.getByText("Still waiting for the server").waitFor({ state: "detached" });
  },
};
