import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnProgram } from "../../server/test/running-server.ts";
import { watchPages } from "./profiles.ts";
import { type Checks, connect } from "./suite.ts";

/** The first start of a container or a service, without a terminal. */
export const firstStartJourney: Checks = {
  async "the password that a first start wrote to a log signs in, and is changed before anything else opens"({
    browser,
  }) {
    const server = await startFirst();
    const misdeeds: string[] = [];
    const page = await watchPages(browser, server.url, {}, misdeeds);
    try {
      const { name, password } = server.operator;
      await page.goto(`${server.url}/_/console/`);
      const signIn = async () => {
        await page.getByLabel("Name").fill(name);
        await page.getByLabel("Password").fill(password);
        await page.getByRole("button", { name: "Sign in" }).click();
      };
      const dialog = page.getByRole("dialog", { name: "Choose your own password" });
      await signIn();
      await dialog.getByText("was written to the log").waitFor();
      assert.equal(await dialog.getByLabel("Current password").count(), 0, "it was typed a moment ago");
      await dialog.getByRole("button", { name: "Sign out" }).click();
      await signIn();
      await dialog.waitFor();
      await page.reload();
      await dialog.getByLabel("Current password").fill("not the password");
      await dialog.getByLabel("New password").fill("a password of my own");
      await dialog.getByRole("button", { name: "Change the password" }).click();
      await dialog.getByRole("alert").waitFor();
      await dialog.getByRole("button", { name: "Sign out" }).click();

      await signIn();
      await dialog.getByLabel("New password").fill(password);
      await dialog.getByRole("button", { name: "Change the password" }).click();
      await dialog.getByText("must differ").waitFor();
      await dialog.getByLabel("New password").fill("a password of my own");
      await dialog.getByRole("button", { name: "Change the password" }).click();
      await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
      await page.getByRole("row").filter({ hasText: "Demo" }).waitFor();
      await (await connect({ url: server.url, operator: { name, password: "a password of my own" } }))(
        "GET",
        "/sessions",
      );
      assert.deepEqual(misdeeds, []);
    } finally {
      await page.context().close();
      await server.stop();
    }
  },
};

/** A server with an empty folder and its output in a file, from which the password is read. */
async function startFirst() {
  const folder = mkdtempSync(path.join(tmpdir(), "rollcall-first-"));
  const log = path.join(folder, "log");
  const stdout = openSync(log, "w");
  const { child, exited } = spawnProgram({ DATA_DIR: path.join(folder, "data"), HOST: "127.0.0.1" }, { stdout });
  closeSync(stdout);
  async function stop() {
    child.kill("SIGTERM");
    await exited;
    rmSync(folder, { recursive: true, force: true });
  }
  const deadline = Date.now() + 60_000;
  for (;;) {
    const text = readFileSync(log, "utf8");
    const port = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(text)?.[1];
    const password = /"password":"([^"]+)"/.exec(text)?.[1];
    if (port !== undefined && password !== undefined)
      return { url: `http://127.0.0.1:${port}`, operator: { name: "owner", password }, stop };
    if (Date.now() > deadline || child.exitCode !== null) {
      await stop();
      assert.fail(`no first password: ${text}`);
    }
    await sleep(20);
  }
}
