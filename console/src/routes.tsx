import type { QueryClient } from "@tanstack/react-query";
import {
  createHashHistory,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  parseSearchWith,
  redirect,
  stringifySearchWith,
  useRouter,
} from "@tanstack/react-router";
import { useCallback } from "react";
import { CallError } from "./lib/call-error.ts";
import { loadPart } from "./lib/load-part.ts";
import type { RangeSearch } from "./lib/time-range.ts";
import { PendingScreen } from "./shell/pending-screen.tsx";
import { sessionQuery } from "./shell/session.ts";

/** Loaded with the first screen, because the sign-in must load little. */
const NoSuchPage = lazyRouteComponent(() => import("./ui/states.tsx"), "NoSuchPage");
const ScreenError = lazyRouteComponent(() => import("./ui/states.tsx"), "ScreenError");

/** The component of a screen, which is loaded when it is opened. */
function screenOf<Module extends Record<string, unknown>, Name extends keyof Module & string>(
  load: () => Promise<Module>,
  name: Name,
) {
  return lazyRouteComponent<Module, Name>(() => loadPart(load), name);
}

/** Every screen of the console. */
const root = createRootRouteWithContext<{ queries: QueryClient }>()({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: ({ next }: Record<string, unknown>) => ({ next: insideOnly(next) }),
  component: screenOf(() => import("./shell/sign-in.screen.tsx"), "SignInScreen"),
});

const frame = createRoute({
  getParentRoute: () => root,
  id: "frame",
  component: screenOf(() => import("./shell/frame.screen.tsx"), "Frame"),
  async beforeLoad({ context: { queries }, location }) {
    try {
      await queries.ensureQueryData(sessionQuery);
    } catch (error) {
      if (!(error instanceof CallError) || error.status !== 401) throw error;
      // A sign-in without a destination opens the list of applications.
      const next = location.pathname === "/" ? undefined : location.href;
      throw redirect({ to: "/sign-in", search: { next } });
    }
  },
});

const deployment = createRoute({
  getParentRoute: () => frame,
  path: "/",
  staticData: { title: "State", heading: "Deployment" },
  component: screenOf(() => import("./deployment/deployment.screen.tsx"), "DeploymentScreen"),
});

const applications = createRoute({
  getParentRoute: () => frame,
  path: "/apps",
  staticData: { title: "Applications" },
  validateSearch: (given) => textsOf(given, ["namePrefix", "state", "sortOrder", "panel"]),
  component: screenOf(() => import("./applications/applications.screen.tsx"), "ApplicationsScreen"),
});

/** Named here, because the sign-in must not load the code of the screens. */
const rangeNames = ["15m", "1h", "24h", "7d", "30d", "90d"];
const userTabs = ["profile", "sign-ins", "devices", "check-ins", "identities", "history", "requests"];
const settingParts = [
  ...["general", "access", "tokens", "limits", "sign-in", "mail", "storage", "events", "rehearsals", "json"],
];
const rangeSearchNames = ["range", "from", "to"] as const satisfies readonly (keyof RangeSearch)[];

const overview = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/overview",
  staticData: { title: "Overview" },
  validateSearch: (given) => textsOf(given, [...rangeSearchNames, "compare"], { range: rangeNames }),
  component: screenOf(() => import("./overview/overview.screen.tsx"), "OverviewScreen"),
});

const start = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/start",
  staticData: { title: "Start" },
  validateSearch: (given) => textsOf(given, ["with"]),
  component: screenOf(() => import("./start/start.screen.tsx"), "StartScreen"),
});

const keys = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/keys",
  staticData: { title: "Keys" },
  validateSearch: (given) => textsOf(given, ["panel", "old"]),
  component: screenOf(() => import("./keys/keys.screen.tsx"), "KeysScreen"),
});

const auditFilters = [
  "actor",
  "actorKind",
  "action",
  "exceptAction",
  "refused",
  "target",
  "from",
  "to",
  "panel",
] as const;

const applicationAudit = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/audit",
  staticData: { title: "Application log" },
  validateSearch: (given) => textsOf(given, auditFilters),
  component: screenOf(() => import("./audit/audit.screen.tsx"), "AuditScreen"),
});

const operators = createRoute({
  getParentRoute: () => frame,
  path: "/operators",
  staticData: { title: "Operators" },
  validateSearch: (given) => textsOf(given, ["panel"]),
  component: screenOf(() => import("./operators/operators.screen.tsx"), "OperatorsScreen"),
});

const audit = createRoute({
  getParentRoute: () => frame,
  path: "/audit",
  staticData: { title: "Deployment log" },
  validateSearch: (given) => textsOf(given, [...auditFilters, "appid"]),
  component: screenOf(() => import("./audit/audit.screen.tsx"), "AuditScreen"),
});

const account = createRoute({
  getParentRoute: () => frame,
  path: "/account",
  staticData: { title: "Account" },
  component: screenOf(() => import("./account/account.screen.tsx"), "AccountScreen"),
});

const users = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/users",
  staticData: { title: "Users" },
  validateSearch: (given) =>
    textsOf(given, ["q", "disabled", "created", "lastModified", "testCallers", "sortOrder", "panel"]),
  component: screenOf(() => import("./users/users.screen.tsx"), "UsersScreen"),
});

const user = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/users/$userId",
  staticData: { title: "Users" },
  validateSearch: (given) => textsOf(given, ["tab", "by", "panel"], { tab: userTabs }),
  component: screenOf(() => import("./users/user.screen.tsx"), "UserScreen"),
});

const devices = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/devices",
  staticData: { title: "Devices" },
  validateSearch: (given) =>
    textsOf(given, [
      "uniqueId",
      "platform",
      "appVersion",
      "tag",
      "keyId",
      "created",
      "testCallers",
      "sortOrder",
      "panel",
    ]),
  component: screenOf(() => import("./devices/devices.screen.tsx"), "DevicesScreen"),
});

const device = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/devices/$deviceId",
  staticData: { title: "Devices" },
  validateSearch: (given) => textsOf(given, ["tab", "panel"], { tab: ["facts", "crashes", "requests"] }),
  component: screenOf(() => import("./devices/device.screen.tsx"), "DeviceScreen"),
});

const crashes = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/crashes",
  staticData: { title: "Crashes" },
  validateSearch: (given) =>
    textsOf(given, ["state", "appVersion", "platform", "deviceID", "firstSeen", "reopened", "sortOrder"]),
  component: screenOf(() => import("./crashes/crashes.screen.tsx"), "CrashesScreen"),
});

const crash = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/crashes/$fingerprint",
  staticData: { title: "Crashes" },
  validateSearch: (given) => textsOf(given, ["report"]),
  component: screenOf(() => import("./crashes/crash.screen.tsx"), "CrashScreen"),
});

const explorer = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/explorer",
  staticData: { title: "Explorer" },
  validateSearch: (given) => textsOf(given, ["operation", "path", "body"]),
  component: screenOf(() => import("./explorer/explorer.screen.tsx"), "ExplorerScreen"),
});

const rehearsals = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/rehearsals",
  staticData: { title: "Rehearsals" },
  component: screenOf(() => import("./rehearsals/rehearsals.screen.tsx"), "RehearsalsScreen"),
});

const requestFilters = [
  ...(["status", "operation", "error", "userID", "deviceID", "address"] as const),
  ...(["slowerThanMs", "requestId", "refused"] as const),
] as const;

const requests = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/requests",
  staticData: { title: "Requests" },
  validateSearch: (given) => textsOf(given, [...requestFilters, "panel"]),
  component: screenOf(() => import("./requests/requests.screen.tsx"), "RequestsScreen"),
});

const metrics = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/metrics",
  staticData: { title: "Metrics" },
  validateSearch: (given) => textsOf(given, ["q"]),
  component: screenOf(() => import("./metrics/metrics.screen.tsx"), "MetricsScreen"),
});

const metric = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/metrics/$key",
  staticData: { title: "Metrics" },
  validateSearch: (given) =>
    textsOf(given, [...rangeSearchNames, "value", "groupBy", "measure", "interval", "compare", "tab"], {
      range: rangeNames,
    }),
  component: screenOf(() => import("./metrics/metric.screen.tsx"), "MetricScreen"),
});

const events = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/events",
  staticData: { title: "Events" },
  validateSearch: (given) => textsOf(given, ["type", "objectID", "userID", "created", "panel"]),
  component: screenOf(() => import("./events/events.screen.tsx"), "EventsScreen"),
});

const webhooks = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/webhooks",
  staticData: { title: "Webhooks" },
  component: screenOf(() => import("./webhooks/webhooks.screen.tsx"), "WebhooksScreen"),
});

const webhook = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/webhooks/$webhookId",
  staticData: { title: "Webhooks" },
  validateSearch: (given) =>
    textsOf(given, ["tab", "state", "type", "eventID", "created", "panel"], { tab: ["deliveries", "facts"] }),
  component: screenOf(() => import("./webhooks/webhook.screen.tsx"), "WebhookScreen"),
});

const settings = createRoute({
  getParentRoute: () => frame,
  path: "/apps/$appid/settings",
  staticData: { title: "Settings" },
  validateSearch: (given) => textsOf(given, ["part"], { part: settingParts }),
  component: screenOf(() => import("./settings/settings.screen.tsx"), "SettingsScreen"),
});

const tree = root.addChildren([
  signIn,
  frame.addChildren([
    deployment,
    applications,
    overview,
    start,
    keys,
    settings,
    applicationAudit,
    operators,
    audit,
    account,
    users,
    user,
    devices,
    device,
    crashes,
    crash,
    metrics,
    metric,
    requests,
    explorer,
    rehearsals,
    events,
    webhooks,
    webhook,
  ]),
]);

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    history: createHashHistory(),
    // Each parameter is a string: the router would quote "false", and parse long numeric ids as numbers.
    parseSearch: parseSearchWith(readText),
    stringifySearch: stringifySearchWith(String),
    context: { queries },
    // What one application or user shows must not stay in sight under the name of another until its data arrives.
    defaultRemountDeps: ({ params }) => params,
    defaultPendingComponent: PendingScreen,
    defaultPendingMs: 150,
    defaultErrorComponent: ({ error }) => <FailedScreen error={error} />,
    defaultNotFoundComponent: () => <NoSuchPage />,
    defaultPreload: "intent",
    scrollRestoration: true,
  });
}

/** Links of earlier versions quote strings that look like other values. */
function readText(text: string): string {
  return /^".*"$/.test(text) ? String(JSON.parse(text)) : text;
}

/** Another attempt loads the code of the screen again, and its data. */
function FailedScreen({ error }: { readonly error: unknown }) {
  const router = useRouter();
  const retry = useCallback(async () => {
    const components = router.state.matches.map(({ routeId }) => router.routesById[routeId]?.options.component);
    await Promise.all(components.map((component) => component?.preload?.()));
    await router.invalidate();
  }, [router]);
  return <ScreenError error={error} onRetry={retry} />;
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
  interface StaticDataRouteOption {
    /** The name of the screen in the breadcrumb. */
    title?: string;
    /** Of the page, if it is another. */
    heading?: string;
  }
}

/** An address inside the console, so that a link cannot lead an operator elsewhere after the sign-in. */
function insideOnly(next: unknown): string | undefined {
  return typeof next === "string" && /^\/(?![/\\])/.test(next) && !next.startsWith("/sign-in") ? next : undefined;
}

/**
 * The string search parameters of a route; other parameters of the address are dropped, and the frame lists them.
 *
 * @param choices the values of parameters that have a few: others are dropped
 */
function textsOf<Name extends string>(
  given: Record<string, unknown>,
  names: readonly Name[],
  choices: { readonly [N in Name]?: readonly string[] } = {},
): { [N in Name]?: string } {
  const texts: { [N in Name]?: string } = {};
  for (const name of names) {
    const value = given[name];
    if (!["string", "number", "boolean"].includes(typeof value)) continue;
    if (choices[name]?.includes(String(value)) !== false) texts[name] = String(value);
  }
  return texts;
}
