import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import type { Setup } from "../suite.ts";
import { enter } from "./steps.ts";

export async function startFromNothing(setup: Setup): Promise<void> {
  const { hand } = setup;
  const page = await enter(setup);
  await page.locator("[role=grid], h2").first().waitFor();
  await hand.press(page.getByRole("button", { name: "New application" }));
  await hand.fill(page.getByRole("dialog").getByLabel("Name"), `First hour ${hand.name}`);
  await hand.press(page.getByRole("button", { name: "Create" }));
  await page.getByRole("heading", { level: 1, name: "Start" }).waitFor();
  const snippets = await page.locator("ol pre").allTextContents();
  const [, key = ""] = /"appkey": "(rk_[^"]+)"/.exec(snippets.join()) ?? [];
  assert.notEqual(key, "");

  const wrong = snippets.map((snippet) => snippet.replace(key, "wrong")).slice(0, 1);
  runInShell(wrong);
  const arrived = page.getByRole("complementary", { name: "What has arrived" });
  await arrived.getByText("key is wrong").waitFor();
  const answers = runInShell(snippets);
  for (const answered of [/"comment":"Hello"/, /"friendlyName":"Greeting"/, /"responses":\[\{"key":"0","status":200/])
    assert.match(answers, answered);
  await arrived.getByRole("heading", { name: "Your app is talking" }).waitFor();
  assert.equal(await arrived.getByText("waiting").count(), 0);

  await hand.press(page.getByRole("link", { name: "Python" }));
  const program = await page.locator("pre").filter({ hasText: "urllib" }).innerText();
  if (hasPython())
    assert.match(runInPython(program), /Hello.*text\/plain.*'responses': \[\{'key': '0', 'status': 200/s);
  await hand.press(page.getByRole("link", { name: "Shell" }));

  await hand.press(arrived.getByRole("button", { name: "See the user" }));
  await page.getByRole("row").filter({ hasText: "ada." }).first().waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Your app is talking" }).waitFor();
  assert.ok(!(await page.content()).includes(key), "the key left the document with its page");
}

function hasPython(): boolean {
  return spawnSync("python3", ["--version"]).status === 0;
}

function runInPython(program: string): string {
  const env = { ...process.env, no_proxy: "*" }; // calls this machine, also behind a proxy
  return execFileSync("python3", ["-"], { input: program, encoding: "utf8", env });
}

/** The output of the snippets when a person pastes them into one shell, without the messages. */
function runInShell(snippets: readonly string[]): string {
  return execFileSync("sh", { input: snippets.join("\n"), encoding: "utf8", stdio: ["pipe", "pipe", "ignore"] });
}
