import type { LucideIcon } from "lucide-react";
import KeyRound from "lucide-react/icons/key-round";
import LayoutGrid from "lucide-react/icons/layout-grid";

export interface Destination {
  /** A path of `routes.tsx`, with `$appid` for the application that is open. */
  readonly to: string;
  readonly label: string;
  readonly icon: LucideIcon;
  /** The key after `g`. */
  readonly key: string;
}

/** The screens of an application, in groups. Each entry leads to a screen that exists. */
export const applicationNavigation: readonly (readonly Destination[])[] = [
  [{ to: "/apps/$appid/keys", label: "Keys", icon: KeyRound, key: "k" }],
];

/** The screens of the deployment. */
export const deploymentNavigation: readonly Destination[] = [
  { to: "/apps", label: "Applications", icon: LayoutGrid, key: "p" },
];

/** Where an application opens. */
export function homeOf(appid: string): string | undefined {
  return applicationNavigation[0]?.[0]?.to.replace("$appid", appid);
}
