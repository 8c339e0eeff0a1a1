import assert from "node:assert/strict";
import { type Checks, connect, openSignedIn, signIn } from "./suite.ts";

export const journeys: Checks = {
  async "an operator creates an application, renames, suspends and deletes it"(setup) {
    const { server } = setup;
    const page = await openSignedIn(setup);
    await page.getByRole("button", { name: "New application" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("Field Notes");
    await page.getByRole("button", { name: "Create" }).click();
    const key = await page.getByText(/^rk_/).textContent();
    await page.getByRole("link", { name: "Applications" }).click();
    await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
    assert.ok(!(await page.content()).includes(key ?? ""), "the key left the document with its page");

    const row = page.getByRole("row").filter({ hasText: "Field Notes" });
    await row.getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("Field Notes 2");
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await row.filter({ hasText: "Field Notes 2" }).waitFor();

    await row.getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "Suspend" }).click();
    await page.getByRole("alertdialog").getByText("0 devices", { exact: true }).waitFor();
    await page.getByRole("alertdialog").getByRole("button", { name: "Suspend the application" }).click();
    await row.getByText("Suspended").waitFor();
    await page.getByText("Suspended Field Notes 2").waitFor(); // before it, the last Undo is that of the name
    await page.getByRole("button", { name: "Undo" }).last().click();
    await row.getByText("Active").waitFor();

    const dialog = page.getByRole("alertdialog");
    const typeId = async () => {
      const [, typed = ""] = /Type “(.+)” to confirm/.exec((await dialog.textContent()) ?? "") ?? [];
      await dialog.getByLabel("to confirm").fill(typed);
    };
    await row.getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "End all tokens" }).click();
    await typeId();
    await dialog.getByRole("button", { name: "End all tokens" }).click();
    await page.getByText("Ended all tokens of Field Notes 2").waitFor();

    await row.getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const remove = dialog.getByRole("button", { name: "Delete the application" });
    assert.equal(await remove.isDisabled(), true);
    await typeId();
    await dialog.getByLabel("Your password").fill(server.operator.password);
    await remove.click();
    await row.waitFor({ state: "detached" });
  },

  async "an owner invites a viewer, who must sign in, and is offered nothing to change"(setup) {
    const { open, server } = setup;
    await (await connect(server))("POST", "/applications", { name: "Only shown" });
    const page = await openSignedIn(setup);
    await page.goto(`${server.url}/_/console/#/operators`);
    await page.getByRole("button", { name: "Invite an operator" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("Vera");
    await page.getByRole("button", { name: "Invite", exact: true }).click();
    const password = await page.getByRole("dialog").locator("code").textContent();
    await page.getByText("I have stored it").click();
    await page.getByRole("button", { name: "Done" }).click();

    const other = await open();
    await other.getByLabel("Name").fill("Vera");
    await other.getByLabel("Password").fill("not the password");
    await other.getByRole("button", { name: "Sign in" }).click();
    await other.getByRole("alert").filter({ hasText: "wrong" }).waitFor();
    await signIn(other, { ...server, operator: { name: "Vera", password: password ?? "" } });
    assert.equal(await other.getByRole("button", { name: "New application" }).count(), 0);
    await other.getByRole("button", { name: "Actions" }).first().click();
    assert.deepEqual(await other.getByRole("menuitem").allTextContents(), ["Open"]);
    await other.keyboard.press("Escape");
    await other.getByRole("link", { name: "Operators" }).click();
    await other.getByRole("row").filter({ hasText: "Vera" }).waitFor();
    for (const name of ["Invite an operator", "Actions"])
      assert.equal(await other.getByRole("button", { name }).count(), 0, name);

    await page.getByRole("row").filter({ hasText: "Vera" }).getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "End sessions" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "End the sessions" }).click();
    await page.getByText("Ended the sessions of Vera.").waitFor();
    await other.keyboard.press("r");
    await other.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    await other.getByLabel("Password").fill(password ?? "");
    await other.getByRole("button", { name: "Sign in" }).click();
    await other.getByRole("dialog").waitFor({ state: "detached" });
  },

  async "the audit log shows what was done, and a filter narrows it"(setup) {
    const { server } = setup;
    const call = await connect(server);
    await call("POST", "/applications", { name: "Traces" });
    const page = await openSignedIn(setup);
    // As in a link of a mail: the part before the # is ignored.
    await page.goto(`${server.url}/_/console/?actor=cli&utm=mail#/audit?action=createApplication`);
    await page.getByRole("button", { name: "Remove Action" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Remove Actor" }).count(), 0);
    assert.equal(await page.evaluate(() => location.search), "");
    await page.getByRole("row").filter({ hasText: "Create application" }).first().click();
    await page.getByRole("button", { name: "All by this actor" }).click();
    await page.getByRole("button", { name: "Remove Actor" }).waitFor();
    await page.getByText("No bars: entries are not counted by actor").waitFor();
    await page.getByRole("button", { name: "Remove Action" }).click();
    await page.getByRole("row").filter({ hasText: "Create operator session" }).first().waitFor();
  },

  async "an operator signs out in all tabs, and the cookie is dead"({ open, server }) {
    const page = await open();
    await signIn(page, server);
    const other = await page.context().newPage();
    await other.goto(`${server.url}/_/console/#/account`);
    await other.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    await page.getByRole("button", { name: /^Account/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await other.getByRole("button", { name: "Sign in" }).waitFor();
    await page.goto(`${server.url}/_/console/#/audit`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
  },
};
