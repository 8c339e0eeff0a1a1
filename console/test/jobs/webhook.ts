import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, type Setup } from "../suite.ts";
import { confirm, enter, goTo, registerDevice } from "./steps.ts";

export async function tellOthers(setup: Setup): Promise<void> {
  const { server, hand } = setup;
  const name = `Hooked ${hand.name}`;
  const { result: application } = await (await connect(server))("POST", "/applications", { name });
  const received: unknown[] = [];
  await using receiver = await startReceiver(received);
  const page = await enter(setup);
  await goTo(setup, page, name, "Webhooks");
  await hand.press(page.getByRole("button", { name: "New webhook" }));
  const dialog = page.getByRole("dialog");
  const create = () => hand.press(dialog.getByRole("button", { name: "Create" }));
  await hand.fill(dialog.getByLabel("URL"), "ftp://127.0.0.1");
  await create();
  await dialog.locator("[data-invalid]").first().waitFor();
  await hand.fill(dialog.getByLabel("URL"), receiver.url);
  await hand.tick(dialog, "All events");
  await create();
  await dialog.getByText("types must have").waitFor();
  await hand.tick(dialog, "user.*");
  await hand.tick(dialog, "device.registered");
  await create();
  const secret = await dialog.getByText(/^whsec_/).innerText();
  const keepSecret = async () => {
    await hand.tick(dialog, "I have stored it");
    await hand.press(dialog.getByRole("button", { name: "Done" }));
  };
  await keepSecret();
  await page.getByRole("heading", { level: 1, name: receiver.url.replace("http://", "") }).waitFor();
  assert.ok(!(await page.content()).includes(secret), "the secret left the document with its dialog");

  await hand.press(page.getByRole("button", { name: "Test" }));
  await dialog.getByText("The receiver has accepted it.").waitFor();
  await dialog.getByText("thank you").waitFor();
  await hand.press(dialog.getByRole("button", { name: "Close" }));
  await hand.press(page.getByRole("button", { name: "Pause" }));
  await page.getByText("Paused", { exact: true }).waitFor();
  await hand.undo(page.locator("body"));
  await page.getByText("Active", { exact: true }).waitFor();
  const choose = async (action: RegExp) => {
    await hand.press(page.getByRole("button", { name: "More actions" }));
    await hand.press(page.getByRole("menuitem", { name: action }));
  };
  await choose(/^Edit/);
  await hand.fill(dialog.getByLabel("Name", { exact: true }), "Billing");
  await hand.press(dialog.getByRole("button", { name: "Save" }));
  await page.getByRole("heading", { level: 1, name: "Billing" }).waitFor();
  await choose(/secret/);
  await hand.press(dialog.getByRole("button", { name: "Rotate the secret" }));
  await dialog.getByText(/^whsec_/).waitFor();
  await keepSecret();
  await hand.press(page.getByRole("link", { name: "Facts" }));
  await page.getByText("signs until").waitFor();

  await registerDevice(server.url, application);
  await hand.press(page.getByRole("link", { name: "Events", exact: true }));
  await hand.open(page.getByRole("row").filter({ hasText: "device.registered" }));
  const event = page.getByRole("complementary", { name: "device.registered" });
  await event.getByText("As it is now").waitFor();
  await hand.press(event.getByRole("link", { name: "Billing" }));
  await page.getByRole("button", { name: "Remove Event’s id" }).waitFor();
  while (received.length < 2) await page.waitForTimeout(50);
  await page.reload();
  await hand.open(page.getByRole("row").filter({ hasText: "Delivered" }));
  const delivery = page.getByRole("complementary");
  await delivery.getByText("thank you").waitFor();
  await hand.press(delivery.getByRole("button", { name: "Send again" }));
  await page.getByRole("row").nth(2).waitFor();
  while (received.length < 3) await page.waitForTimeout(50);

  await choose(/^Delete/);
  await confirm(setup, page, "Delete the webhook");
  await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();
}

/** A system that accepts events on this machine. */
async function startReceiver(received: unknown[]) {
  const server = createServer((request, response) => {
    received.push(request.headers["webhook-id"]);
    request.resume().once("end", () => response.end("thank you"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
