import type { Page } from "playwright-core";
import { type Setup, send } from "../suite.ts";

/** A new tab, signed in; in a profile that checks share unless the operator is signed out in it. */
export async function enter(
  { open, reopen, share, server, hand }: Setup,
  { isShared = true }: { readonly isShared?: boolean } = {},
): Promise<Page> {
  const known = isShared ? await reopen() : undefined;
  if (known !== undefined) return known;
  const page = await open();
  await hand.fill(page.getByLabel("Name"), server.operator.name);
  await hand.fill(page.getByLabel("Password"), server.operator.password);
  await hand.press(page.getByRole("button", { name: "Sign in" }));
  await page.getByRole("heading", { level: 1 }).waitFor();
  if (isShared) share(page);
  return page;
}

/** Opens a screen of the application from the list of applications: by links, or by keys after `g`. */
export async function goTo({ hand }: Setup, page: Page, application: string, screen: string): Promise<void> {
  await hand.follow(page.getByRole("navigation", { name: "Deployment" }).getByRole("link", { name: "Applications" }));
  await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
  const row = page.getByRole("row").filter({ hasText: application });
  await page.locator("[data-index='0']").waitFor();
  if ((await row.count()) === 0) await hand.toEnd(page.getByRole("grid")); // only rows in sight are in the document
  await hand.open(row);
  await page.getByRole("button", { name: `Application: ${application}` }).waitFor();
  const links = page.locator("nav:not([aria-label=Deployment])").getByRole("link", { name: screen, exact: true });
  await hand.follow(links);
  await page.getByRole("heading", { level: 1, name: screen }).waitFor();
}

/** Types the confirmation that the dialog requires, and confirms. */
export async function confirm({ hand }: Setup, page: Page, action: string): Promise<void> {
  const dialog = page.getByRole("alertdialog");
  const [, typed = ""] = /Type “(.+)” to confirm/.exec((await dialog.textContent()) ?? "") ?? [];
  await hand.fill(dialog.getByLabel("to confirm"), typed);
  await hand.press(dialog.getByRole("button", { name: action }));
  await dialog.waitFor({ state: "detached" });
}

/** Registers a device, as an app does. @returns the header of its calls */
export async function registerDevice(
  url: string,
  { appid, appkey, uniqueId }: { appid: string; appkey: string; uniqueId?: string },
) {
  const facts = { appid, appkey, uniqueId, platform: "iOS", appVersion: "1.0" };
  const { result } = await send(`${url}/devices`, "POST", facts);
  return { Authorization: `Service ${result.accessToken}` };
}

/** The status of a call with this header. */
export async function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(url, { headers });
  await response.arrayBuffer();
  return response.status;
}
