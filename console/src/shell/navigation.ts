import type { Icon } from "../lib/icon.ts";
import Bug from "../lib/icons/bug.ts";
import ChartColumn from "../lib/icons/chart-column.ts";
import ChartLine from "../lib/icons/chart-line.ts";
import Clapperboard from "../lib/icons/clapperboard.ts";
import FlaskConical from "../lib/icons/flask-conical.ts";
import HeartPulse from "../lib/icons/heart-pulse.ts";
import KeyRound from "../lib/icons/key-round.ts";
import LayoutGrid from "../lib/icons/layout-grid.ts";
import Radio from "../lib/icons/radio.ts";
import Rocket from "../lib/icons/rocket.ts";
import ScrollText from "../lib/icons/scroll-text.ts";
import ShieldUser from "../lib/icons/shield-user.ts";
import SlidersHorizontal from "../lib/icons/sliders-horizontal.ts";
import Smartphone from "../lib/icons/smartphone.ts";
import Users from "../lib/icons/users.ts";
import Webhook from "../lib/icons/webhook.ts";
import Zap from "../lib/icons/zap.ts";

export interface Destination {
  /** A path of `routes.tsx`, with `$appid` for the application that is open. */
  readonly to: string;
  readonly label: string;
  readonly icon: Icon;
  /** The key after `g`. */
  readonly key: string;
}

/** The screens of an application, in groups. Each entry leads to a screen that exists. */
export const applicationNavigation: readonly (readonly Destination[])[] = [
  [
    { to: "/apps/$appid/overview", label: "Overview", icon: ChartLine, key: "o" },
    { to: "/apps/$appid/start", label: "Start", icon: Rocket, key: "b" },
  ],
  [
    { to: "/apps/$appid/users", label: "Users", icon: Users, key: "u" },
    { to: "/apps/$appid/devices", label: "Devices", icon: Smartphone, key: "d" },
  ],
  [
    { to: "/apps/$appid/metrics", label: "Metrics", icon: ChartColumn, key: "m" },
    { to: "/apps/$appid/crashes", label: "Crashes", icon: Bug, key: "x" },
    { to: "/apps/$appid/requests", label: "Requests", icon: Radio, key: "r" },
  ],
  [
    { to: "/apps/$appid/events", label: "Events", icon: Zap, key: "v" },
    { to: "/apps/$appid/webhooks", label: "Webhooks", icon: Webhook, key: "w" },
  ],
  [
    { to: "/apps/$appid/explorer", label: "Explorer", icon: FlaskConical, key: "e" },
    { to: "/apps/$appid/rehearsals", label: "Rehearsals", icon: Clapperboard, key: "t" },
  ],
  [
    { to: "/apps/$appid/keys", label: "Keys", icon: KeyRound, key: "k" },
    { to: "/apps/$appid/settings", label: "Settings", icon: SlidersHorizontal, key: "s" },
    { to: "/apps/$appid/audit", label: "Application log", icon: ScrollText, key: "a" },
  ],
];

/** The screens of the deployment. */
export const deploymentNavigation: readonly Destination[] = [
  { to: "/", label: "Deployment", icon: HeartPulse, key: "h" },
  { to: "/apps", label: "Applications", icon: LayoutGrid, key: "p" },
  { to: "/operators", label: "Operators", icon: ShieldUser, key: "i" },
  { to: "/audit", label: "Deployment log", icon: ScrollText, key: "l" },
];

/** The first screen of an application. */
export function homeOf(appid: string): string | undefined {
  return applicationNavigation[0]?.[0]?.to.replace("$appid", appid);
}
