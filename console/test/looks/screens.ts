import type { Page } from "playwright-core";

export interface Screen {
  readonly name: string;
  /** `$appid` and the like stand for the ids of the content. */
  readonly at: string;
  readonly act?: (page: Page) => Promise<void>;
}

/** Each screen and dialog: its address, and the actions before the picture. */
export const screens: readonly Screen[] = [
  { name: "applications", at: "#/apps" },
  { name: "application-panel", at: "#/apps", act: (page) => page.getByRole("row").nth(1).press("Space") },
  {
    name: "application-create",
    at: "#/apps",
    act: (page) => page.getByRole("button", { name: "New application" }).click(),
  },
  { name: "application-delete", at: "#/apps", act: openDelete },
  { name: "application-audit", at: "#/apps/$appid/audit" },
  { name: "overview", at: "#/apps/$appid/overview" },
  {
    name: "overview-table",
    at: "#/apps/$appid/overview?range=24h",
    act: (page) => page.getByRole("button", { name: "Calls as a table" }).click(),
  },
  {
    name: "overview-range",
    at: "#/apps/$appid/overview?range=7d",
    act: (page) => page.getByRole("button", { name: /^Time range/ }).click(),
  },
  { name: "users", at: "#/apps/$appid/users" },
  { name: "users-nothing", at: "#/apps/$appid/users?q=nobody" },
  ...["profile", "sign-ins", "devices", "check-ins", "identities", "history", "requests"].map((tab) => ({
    name: `user-${tab}`,
    at: `#/apps/$appid/users/$userId?tab=${tab}`,
  })),
  { name: "devices", at: "#/apps/$appid/devices" },
  {
    name: "device-panel",
    at: "#/apps/$appid/devices",
    act: async (page) => {
      await page.getByRole("row").nth(1).press("Space");
      await page.getByRole("heading", { name: "Signed in now" }).waitFor();
    },
  },
  { name: "device", at: "#/apps/$appid/devices/$deviceId" },
  { name: "device-crashes", at: "#/apps/$appid/devices/$deviceId?tab=crashes" },
  { name: "device-requests", at: "#/apps/$appid/devices/$deviceId?tab=requests" },
  { name: "crashes", at: "#/apps/$appid/crashes" },
  { name: "crash", at: "#/apps/$appid/crashes/$fingerprint" },
  { name: "start", at: "#/apps/$appid/start" },
  { name: "start-client", at: "#/apps/$appid/start?with=client" },
  { name: "start-python", at: "#/apps/$appid/start?with=python" },
  { name: "metrics", at: "#/apps/$appid/metrics" },
  { name: "metrics-nothing", at: "#/apps/$appid/metrics?q=nothing" },
  { name: "metric", at: "#/apps/$appid/metrics/level" },
  { name: "metric-grouped", at: "#/apps/$appid/metrics/level?range=24h&groupBy=world&value=score&compare=before" },
  { name: "metric-events", at: "#/apps/$appid/metrics/level?tab=events" },
  { name: "requests", at: "#/apps/$appid/requests" },
  { name: "request-panel", at: "#/apps/$appid/requests", act: openRequest },
  { name: "requests-nothing", at: "#/apps/$appid/requests?operation=nothing" },
  { name: "explorer", at: "#/apps/$appid/explorer" },
  { name: "explorer-form", at: "#/apps/$appid/explorer?operation=createCheckin" },
  { name: "explorer-answer", at: "#/apps/$appid/explorer?operation=getOwnUser", act: sendCall },
  { name: "rehearsals", at: "#/apps/$appid/rehearsals", act: (page) => page.getByText("header can say").waitFor() },
  { name: "events", at: "#/apps/$appid/events" },
  { name: "event-panel", at: "#/apps/$appid/events", act: (page) => page.getByRole("row").nth(1).press("Space") },
  { name: "events-refused", at: "#/apps/$appid/events?type=none.such" },
  { name: "events-nothing", at: "#/apps/$appid/events?type=checkin.deleted" },
  { name: "webhooks", at: "#/apps/$appid/webhooks" },
  {
    name: "webhook-create",
    at: "#/apps/$appid/webhooks",
    act: (page) => page.getByRole("button", { name: "New webhook" }).click(),
  },
  { name: "webhook-types", at: "#/apps/$appid/webhooks", act: chooseTypes },
  { name: "webhook", at: "#/apps/$appid/webhooks/$webhookId" },
  { name: "webhook-facts", at: "#/apps/$appid/webhooks/$webhookId?tab=facts" },
  { name: "webhook-delete", at: "#/apps/$appid/webhooks/$webhookId", act: chooseOfWebhook(/^Delete/) },
  { name: "webhook-rotate", at: "#/apps/$appid/webhooks/$webhookId", act: chooseOfWebhook(/secret/) },
  { name: "keys", at: "#/apps/$appid/keys" },
  { name: "key-panel", at: "#/apps/$appid/keys", act: (page) => page.getByRole("row").nth(1).press("Space") },
  { name: "keys-one", at: "#/apps/$three/keys" },
  { name: "user-gone", at: "#/apps/$appid/users/usr_0mwwseg7p0000iuwce3ixulqc0" },
  ...["general", "access", "tokens", "limits", "sign-in", "mail", "storage", "events", "rehearsals", "json"].map(
    (part) => ({
      name: `settings-${part}`,
      at: `#/apps/$appid/settings?part=${part}`,
    }),
  ),
  { name: "settings-providers", at: "#/apps/$appid/settings?part=sign-in", act: addProvider },
  { name: "settings-limit", at: "#/apps/$appid/settings?part=limits", act: addOperation },
  { name: "settings-operations", at: "#/apps/$appid/settings?part=access", act: addOperation },
  {
    name: "settings-types",
    at: "#/apps/$appid/settings?part=events",
    act: (page) => page.getByText("All events").click(),
  },
  { name: "settings-delete", at: "#/apps/$appid/settings", act: askToDelete },
  { name: "settings-shut-out", at: "#/apps/$appid/settings?part=json", act: shutOut },
  { name: "deployment", at: "#/", act: (page) => page.getByRole("heading", { name: "Processes" }).waitFor() },
  { name: "operators", at: "#/operators" },
  { name: "operator-panel", at: "#/operators", act: (page) => page.getByRole("row").nth(1).press("Space") },
  { name: "operator-invite", at: "#/operators", act: (page) => page.getByRole("button", { name: "Invite" }).click() },
  { name: "audit", at: "#/audit" },
  { name: "audit-panel", at: "#/audit", act: (page) => page.getByRole("row").nth(1).press("Space") },
  {
    name: "audit-change",
    at: "#/apps/$appid/audit?action=changeApplication,changeApplicationSettings",
    act: openChange,
  },
  { name: "audit-nothing", at: "#/audit?actor=system&action=deleteOperator" },
  { name: "account", at: "#/account", act: (page) => page.getByText("This one").waitFor() },
  { name: "palette", at: "#/audit", act: openPalette },
  { name: "palette-found", at: "#/apps/$appid/users", act: find },
  ...["overview", "start", "users", "devices", "metrics", "crashes", "requests", "events", "webhooks"].map(
    (screen) => ({
      name: `${screen}-empty`,
      at: `#/apps/$empty/${screen}`,
    }),
  ),
  { name: "users-three", at: "#/apps/$three/users" },
  { name: "users-many", at: "#/apps/$many/users" },
];

async function chooseTypes(page: Page): Promise<void> {
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.getByText("All events").click();
  await page.getByText("user.*").click();
}

async function addProvider(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Add a provider" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Example");
}

async function addOperation(page: Page): Promise<void> {
  await page.getByLabel("Add an operation").selectOption("POST /checkins");
  await page.getByRole("button", { name: "Add", exact: true }).click();
}

async function askToDelete(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByText("are registered").waitFor();
}

async function shutOut(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "Settings" }).fill('{"signedRequests": "required"}');
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alertdialog").getByText("are registered").waitFor();
}

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
}

function chooseOfWebhook(action: RegExp) {
  return async (page: Page) => {
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: action }).click();
    await page.locator("[role=dialog], [role=alertdialog]").waitFor();
  };
}

async function find(page: Page): Promise<void> {
  await openPalette(page);
  await page.getByRole("combobox").fill("a");
  await page
    .getByRole("option")
    .filter({ hasText: /User|Application/ })
    .first()
    .waitFor();
}

async function openChange(page: Page): Promise<void> {
  await page.getByRole("row").nth(1).press("Space");
  await page.getByRole("columnheader", { name: "Before" }).waitFor();
}

async function sendCall(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("region", { name: "Answer" }).waitFor();
}

async function openRequest(page: Page): Promise<void> {
  await page.getByRole("row").filter({ hasText: "createUser" }).first().click();
  await page.getByText("five minutes before").waitFor();
}

async function openDelete(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Actions" }).first().click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("alertdialog").waitFor();
}
