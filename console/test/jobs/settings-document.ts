import assert from "node:assert/strict";
import { connect, type Setup } from "../suite.ts";
import { confirm, enter, goTo } from "./steps.ts";

export async function configureApplication(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Configured ${hand.name}`;
  const call = await connect(server);
  const { result: application } = await call("POST", "/applications", { name });
  const settings = async () => (await call("GET", `/applications/${application.appid}/settings`)).result;
  const page = await enter(setup);
  await goTo(setup, page, name, "Settings");
  const parts = page.getByRole("navigation", { name: "Parts of the settings" });
  const follow = (part: string) => hand.press(parts.getByRole("link", { name: part, exact: true }));
  const text = page.getByRole("textbox", { name: "Settings" });
  const save = () => hand.press(page.getByRole("button", { name: "Save", exact: true }));
  await follow("All as JSON");
  await hand.fill(text, '{"origins": "https://app.example"');
  await save();
  await page.getByText("This is no JSON").waitFor();
  await hand.fill(text, '{"unknown": 1}');
  await save();
  await page.getByText("unknown", { exact: false }).nth(1).waitFor();
  await hand.fill(text, '{"debug": true}');
  await save();
  await page.getByText("Saved all settings.").waitFor();
  assert.equal((await settings()).debug, true);

  await follow("Storage");
  await hand.fill(page.getByLabel("Size of all files", { exact: true }), "1.5");
  await save();
  await page.getByText("Saved: Storage.").waitFor();
  assert.deepEqual((await settings()).quotas, { bytesPerApplication: 1_500_000_000 });

  await follow("Events");
  await hand.fill(page.getByLabel("Days that events are kept"), "31");
  await save();
  await page.locator("[data-invalid]").first().waitFor();
  await hand.fill(page.getByLabel("Days that events are kept"), "14");
  await save();
  await page.getByText("Saved: Events.").waitFor();
  assert.equal((await settings()).events.retentionDays, 14);
  await hand.fill(page.getByLabel("Mail about disabled webhooks"), "hooks@example.com");
  await save();
  await page.waitForFunction(() => document.querySelector("button[type=submit]:disabled") !== null);
  assert.deepEqual((await settings()).webhooks, { mail: "hooks@example.com" });

  await follow("Limits");
  await hand.fill(page.getByLabel("Streams of events in each process"), "25");
  await save();
  await page.getByText("Saved: Limits.").waitFor();
  assert.deepEqual((await settings()).limits, { streams: 25 });

  await follow("Sign-in");
  await hand.press(page.getByRole("button", { name: "Add a provider" }));
  await save();
  await page.getByText("Each provider needs a name.").waitFor();
  await hand.fill(page.getByLabel("Name", { exact: true }), "Example");
  await hand.fill(page.getByLabel("Issuer"), "https://example.com");
  await hand.fill(page.getByLabel("Audience"), "app");
  await hand.fill(page.getByLabel("Address of its keys"), "https://192.0.2.1/keys");
  await save();
  await page.getByText("Saved: Sign-in.").waitFor();
  const provider = { issuer: "https://example.com", audience: "app", jwksUrl: "https://192.0.2.1/keys" };
  assert.deepEqual((await settings()).oidc, { Example: provider });
  await hand.press(page.getByRole("button", { name: "Remove Example" }));
  await save();
  await page.getByText("No provider").waitFor();
  await page.waitForFunction(() => document.querySelector("button[type=submit]:disabled") !== null);
  assert.deepEqual((await settings()).oidc, {});

  await follow("General");
  await hand.press(page.getByRole("button", { name: "Suspend …" }));
  await hand.press(page.getByRole("alertdialog").getByRole("button", { name: "Suspend the application" }));
  await page.getByText("This application is suspended").waitFor();
  await hand.press(page.getByRole("button", { name: "Resume" }).first()); // of the banner
  await page.getByText("This application is suspended").waitFor({ state: "detached" });
  await hand.press(page.getByRole("button", { name: "Delete" }));
  const dialog = page.getByRole("alertdialog");
  await dialog.getByText("0 devices are registered").waitFor();
  await hand.fill(dialog.getByLabel("Your password"), server.operator.password);
  await confirm(setup, page, "Delete the application");
  await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
}
