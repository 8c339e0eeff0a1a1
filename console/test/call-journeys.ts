import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { type Checks, connect, send, signIn } from "./suite.ts";

/** The calls of apps: seen, understood and tried. */
export const callJourneys: Checks = {
  async "a newcomer creates an application, runs the snippets in a shell and sees each step ticked"({ open, server }) {
    const page = await open();
    await signIn(page, server);
    await page.getByRole("button", { name: "New application" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("First hour");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { level: 1, name: "Start" }).waitFor();
    const snippets = await page.locator("ol pre").allTextContents();
    const [, key = ""] = /"appkey": "(rk_[^"]+)"/.exec(snippets.join()) ?? [];
    assert.notEqual(key, "");

    const wrong = snippets.map((snippet) => snippet.replace(key, "wrong")).slice(0, 1);
    runInShell(wrong);
    const arrived = page.getByRole("complementary", { name: "What has arrived" });
    await arrived.getByText("key is wrong").waitFor();
    assert.match(runInShell(snippets), /"comment":"Hello"/);
    await arrived.getByRole("heading", { name: "Your app is talking" }).waitFor();
    assert.equal(await arrived.getByText("waiting").count(), 0);

    await arrived.getByRole("button", { name: "See the user" }).click();
    await page.getByRole("row").filter({ hasText: "ada." }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Your app is talking" }).waitFor();
    assert.ok(!(await page.content()).includes(key), "the key left the document with its page");
  },

  async "a refused call appears by itself, and its panel says what it means and what came before"({ open, server }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Refused" });
    const { appid, appkey } = application;
    const page = await open();
    await signIn(page, server);
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
};

/** What a person sees who pastes the snippets into one shell, without the messages. */
function runInShell(snippets: readonly string[]): string {
  return execFileSync("sh", { input: snippets.join("\n"), encoding: "utf8", stdio: ["pipe", "pipe", "ignore"] });
}
