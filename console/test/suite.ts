import type { Browser, Page } from "playwright-core";
import type { Hand } from "./hand.ts";
import type { Profile } from "./profiles.ts";
import type { TestServer } from "./servers.ts";

export interface Setup {
  readonly server: TestServer;
  readonly browser: Browser;
  /** The folder for pictures of the screens. */
  readonly pictures: string;
  /** The input device of the operator in a journey that runs by mouse and by keyboard. */
  readonly hand: Hand;
  /** A new browser profile with one tab, at the sign-in. It fails the check when a page performs a forbidden action. */
  open(profile?: Profile): Promise<Page>;
  /** Like `open`, but signed in by a call, at the list of applications: for checks that do not test the sign-in. */
  openSession(profile?: Profile): Promise<Page>;
  /** The tab of the profile that an earlier check with the same input device has shared, at the list of applications. */
  reopen(): Promise<Page | undefined>;
  /** Saves the profile of the tab, with its signed-in operator, for `reopen`. */
  share(page: Page): void;
}

export type Checks = Readonly<Record<string, (setup: Setup) => Promise<void>>>;

/** Signs in at the sign-in screen. */
export async function signIn(page: Page, { operator }: Pick<TestServer, "operator">): Promise<void> {
  await page.getByLabel("Name").fill(operator.name);
  await page.getByLabel("Password").fill(operator.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator("[role=grid], h2").first().waitFor(); // the applications, or that there is none
}

/** A tab of an operator who is signed in, in a profile that checks share. */
export async function openSignedIn({ openSession, reopen, share }: Setup): Promise<Page> {
  const known = await reopen();
  if (known !== undefined) return known;
  const page = await openSession();
  share(page);
  return page;
}

/** Calls the API as the owner, as programs do. */
export async function connect({ url, operator }: Pick<TestServer, "url" | "operator">) {
  const { result } = await send(`${url}/_/api/sessions`, "POST", operator);
  return (method: string, at: string, body?: object) =>
    send(`${url}/_/api${at}`, method, body, { Authorization: `Bearer ${result.token}` });
}

/** Sends one call, which must succeed. */
export async function send(url: string, method: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, "Content-Type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const answer = await response.json();
  if (answer.success !== true) throw new Error(`${method} ${url}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Delays the next call of this method and address. @returns a function that releases it */
export async function hold(page: Page, method: string, address: string | RegExp): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(
    address,
    async (route) => {
      if (route.request().method() === method) await promise;
      await route.continue();
    },
    { times: 1 },
  );
  return resolve;
}
