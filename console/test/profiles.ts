import type { Browser, BrowserContext, Page, Request } from "playwright-core";

/** Features that are switched off. The flag replaces that of Playwright, so its list is repeated. */
const disabledFeatures = [
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"],
  ...[
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
  ],
  ...["AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled"],
  "PreconnectToSearch",
  // Each window renders the suggestions of the address bar in processes of their own, though no window is seen.
  ...["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"],
  "SpareRendererForSitePerProcess", // a process for the next page, which is started with each page
];

/** Without these, Chromium contacts its maker, and draws windows that no check sees. */
export const quietFlags = [
  "--no-sandbox",
  `--disable-features=${disabledFeatures.join(",")}`,
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const actionMsMax = 180_000; // for a condition that never holds; on a busy machine a page takes many seconds

export type Profile = NonNullable<Parameters<Browser["newContext"]>[0]>;

/** A new browser profile with one tab. Forbidden actions of its pages are added to the misdeeds. */
export async function watchPages(
  browser: Browser,
  serverUrl: string,
  profile: Profile,
  misdeeds: string[],
): Promise<Page> {
  const context = await browser.newContext(profile);
  context.setDefaultTimeout(actionMsMax);
  await context.addInitScript(keepTimedThings);
  noteMisdeeds(context, serverUrl, misdeeds);
  countCalls(context);
  return context.newPage();
}

const calls = new WeakMap<Page, Set<Request>>();

/** Whether the page waits for an answer. */
export function isCalling(page: Page): boolean {
  return (calls.get(page)?.size ?? 0) > 0;
}

function countCalls(context: BrowserContext): void {
  context.on("page", (page) => {
    const underWay = new Set<Request>();
    calls.set(page, underWay);
    page.on("request", (request) => underWay.add(request));
    page.on("requestfinished", (request) => underWay.delete(request));
    page.on("requestfailed", (request) => underWay.delete(request));
  });
}

/** Runs in the page: an Undo and the first key of a pair wait for the check, however busy the machine is. */
function keepTimedThings(): void {
  const timed = [10_000, 1500];
  const original = window.setTimeout;
  const patient = (run: () => void, ms?: number) => (timed.includes(ms ?? 0) ? 0 : original(run, ms));
  Object.assign(window, { setTimeout: patient });
}

/**
 * Records each request to another host, and each error of a page, such as a violation of the content security policy.
 */
function noteMisdeeds(context: BrowserContext, serverUrl: string, misdeeds: string[]): void {
  context.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== "data:" && protocol !== "blob:" && origin !== serverUrl)
      misdeeds.push(`A request to ${request.url()}`);
  });
  context.on("weberror", (error) => misdeeds.push(`An error of the page: ${error.error().stack}`));
  context.on("console", (message) => {
    const isRefusedCall = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isRefusedCall) misdeeds.push(`The page logged ${message.text()}`);
  });
}
