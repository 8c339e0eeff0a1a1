import assert from "node:assert/strict";
import { type Checks, connect, signIn } from "./suite.ts";

export const screenJourneys: Checks = {
  async "settings are saved as one document, a provider by its form, and the application is renamed, suspended and deleted"({
    open,
    server,
  }) {
    const call = await connect(server);
    const { result: application } = await call("POST", "/applications", { name: "Configured" });
    const { appid } = application;
    const settings = async () => (await call("GET", `/applications/${appid}/settings`)).result;
    const page = await open();
    await signIn(page, server);
    await page.goto(`${server.url}/_/console/#/apps/${appid}/settings?part=json`);
    const text = page.getByRole("textbox", { name: "Settings" });
    const save = page.getByRole("button", { name: "Save", exact: true });
    await text.fill('{"origins": "https://app.example"');
    await save.click();
    await page.getByText("This is no JSON").waitFor();
    await text.fill('{"unknown": 1}');
    await save.click();
    await page.getByText("unknown", { exact: false }).nth(1).waitFor();
    await text.fill('{"debug": true}');
    await save.click();
    await page.getByText("Saved all settings.").waitFor();
    assert.equal((await settings()).debug, true);

    await page.getByRole("link", { name: "Sign-in", exact: true }).click();
    await page.getByRole("button", { name: "Add a provider" }).click();
    await save.click();
    await page.getByText("Each provider needs a name.").waitFor();
    await page.getByLabel("Name").fill("Example");
    await page.getByLabel("Issuer").fill("https://example.com");
    await page.getByLabel("Audience").fill("app");
    await page.getByLabel("Address of its keys").fill("https://192.0.2.1/keys");
    await save.click();
    await page.getByText("Saved: Sign-in.").waitFor();
    const provider = { issuer: "https://example.com", audience: "app", jwksUrl: "https://192.0.2.1/keys" };
    assert.deepEqual((await settings()).oidc, { Example: provider });
    await page.getByRole("button", { name: "Remove Example" }).click();
    await save.click();
    await page.getByText("No provider").waitFor();
    await page.waitForFunction(() => document.querySelector("button[type=submit]:disabled") !== null);
    assert.deepEqual((await settings()).oidc, {});

    await page.getByRole("link", { name: "General", exact: true }).click();
    await page.getByRole("button", { name: "Suspend" }).click();
    await page.getByText("This application is suspended").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("This application is suspended").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText("0 devices are registered").waitFor();
    await dialog.getByLabel("to confirm").fill(appid);
    await dialog.getByLabel("Your password").fill(server.operator.password);
    await dialog.getByRole("button", { name: "Delete the application" }).click();
    await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
  },
};
