import type { ApplicationHits, DeploymentHits, Hit } from "../api/search.ts";
import type { listActs } from "../lib/acts.ts";
import { showInvisible } from "../lib/format.ts";
import type { Icon } from "../lib/icon.ts";
import Bug from "../lib/icons/bug.ts";
import ChartColumn from "../lib/icons/chart-column.ts";
import Hash from "../lib/icons/hash.ts";
import KeyRound from "../lib/icons/key-round.ts";
import LayoutGrid from "../lib/icons/layout-grid.ts";
import Radio from "../lib/icons/radio.ts";
import ScrollText from "../lib/icons/scroll-text.ts";
import ShieldUser from "../lib/icons/shield-user.ts";
import Smartphone from "../lib/icons/smartphone.ts";
import User from "../lib/icons/user.ts";
import Zap from "../lib/icons/zap.ts";
import type { Shortcut } from "../lib/shortcuts.ts";
import { addressOfId } from "./ids.ts";
import { applicationNavigation, deploymentNavigation } from "./navigation.ts";

/** A line of the palette. */
export interface Destination {
  readonly icon: Icon;
  readonly label: string;
  readonly note: string;
  /** The keys that lead there, too. */
  readonly keys?: string;
  readonly href: string;
  /** What happens in place of a page. */
  readonly run?: () => void;
}

interface HitKind {
  readonly noun: string;
  readonly icon: Icon;
  readonly page: (hit: Hit) => string;
}

/** Where the hits of each kind are shown; kinds without a screen are left out. */
const pagesOfApplication: Partial<Record<keyof ApplicationHits, HitKind>> = {
  users: { noun: "User", icon: User, page: ({ id }) => `/users/${encodeURIComponent(id)}` },
  devices: { noun: "Device", icon: Smartphone, page: ({ id }) => `/devices/${encodeURIComponent(id)}` },
  keys: { noun: "Key", icon: KeyRound, page: ({ id }) => `/keys?panel=${id}` },
  crashes: { noun: "Crash", icon: Bug, page: ({ id }) => `/crashes/${encodeURIComponent(id)}` },
  metrics: { noun: "Metric", icon: ChartColumn, page: ({ id }) => `/metrics/${encodeURIComponent(id)}` },
  requests: { noun: "Call", icon: Radio, page: ({ id }) => `/requests?requestId=${encodeURIComponent(id)}` },
  audit: { noun: "Audit log", icon: ScrollText, page: entryPage },
};

const pagesOfDeployment: Record<keyof DeploymentHits, HitKind> = {
  applications: { noun: "Application", icon: LayoutGrid, page: ({ id }) => `/apps/${id}/overview` },
  operators: { noun: "Operator", icon: ShieldUser, page: ({ id }) => `/operators?panel=${id}` },
  audit: { noun: "Audit log", icon: ScrollText, page: entryPage },
};

/** The screens with the text in their names, and the page of an id. */
export function findPlaces(text: string, appid: string | undefined): Destination[] {
  const address = addressOfId(text, appid);
  if (address !== undefined) return [{ icon: Hash, label: text, note: "By its id", href: address }];
  const own = appid === undefined ? [] : applicationNavigation.flat();
  const places = [
    ...own.map((place) => ({ ...place, note: "" })),
    ...deploymentNavigation.map((place) => ({ ...place, note: own.length === 0 ? "" : "Deployment" })),
  ];
  return places
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    .map(({ icon, label, to, key, note }) => {
      const isItself = note === label;
      return { icon, label, note: isItself ? "" : note, keys: `g ${key}`, href: to.replace("$appid", appid ?? "") };
    });
}

/** What the page offers and what its single keys do: "disable", or "disable ada" with the name of the object. */
export function findActs(
  text: string,
  acts: ReturnType<typeof listActs>,
  shortcuts: readonly Shortcut[],
): Destination[] {
  if (text === "") return [];
  const [first = "", ...others] = text.toLowerCase().split(/\s+/);
  const named = acts
    .filter(({ label }) => label.toLowerCase().includes(first))
    .filter(({ label, subject }) => others.every((word) => `${label} ${subject}`.toLowerCase().includes(word)))
    .map(({ label, icon = Zap, subject: note, run }) => ({ icon, label, note, href: `act ${label} ${note}`, run }));
  const ofKeys = shortcuts
    .filter(({ keys, label }) => /^\w$/.test(keys) && label.toLowerCase().includes(text.toLowerCase()))
    .map(({ keys, label, run }) => ({ icon: Zap, label, note: "Do it now", keys, href: `act ${keys}`, run }));
  return [...named, ...ofKeys];
}

const recentMax = 5;
/** In memory alone, so that a later operator of this browser does not see them. */
let recent: readonly Destination[] = [];

export function rememberDestination(destination: Destination): void {
  if (destination.run !== undefined) return;
  recent = [destination, ...recent.filter(({ href }) => href !== destination.href)].slice(0, recentMax);
}

/** Where the palette led last, the latest first. */
export function listRecent(): readonly Destination[] {
  return recent.map((destination) => ({ ...destination, note: "Recent" }));
}

/** The pages of what the server has found. An entry that both searches found is shown once. */
export function findPages(
  text: string,
  appid: string | undefined,
  inApplication: ApplicationHits | undefined,
  inDeployment: DeploymentHits | undefined,
): Destination[] {
  const ofApplication = Object.entries(pagesOfApplication).flatMap(([kind, shown]) =>
    (inApplication?.[kind as keyof ApplicationHits] ?? []).map((hit) =>
      lineOf(hit, shown, `/apps/${appid}${shown.page(hit)}`),
    ),
  );
  const known = new Set((inApplication?.audit ?? []).map(({ id }) => id));
  const ofDeployment = Object.entries(pagesOfDeployment).flatMap(([kind, shown]) =>
    (inDeployment?.[kind as keyof DeploymentHits] ?? [])
      .filter(({ id }) => !known.has(id))
      .flatMap((hit) => (hit.match === "object" ? ownerLine(text, appid, hit) : lineOf(hit, shown, shown.page(hit)))),
  );
  return [...ofApplication, ...ofDeployment];
}

/** The page of an id in the application that has the object: this one, or another. */
function ownerLine(id: string, appid: string | undefined, { id: owner, title = owner }: Hit): Destination[] {
  const href = addressOfId(id, owner);
  const note = owner === appid ? "By its id" : `Look in ${showInvisible(title)}`;
  return href === undefined ? [] : [{ icon: Hash, label: id, note, href }];
}

function lineOf({ id, title, match }: Hit, { noun, icon }: HitKind, href: string): Destination {
  const found = { id: " by id", name: "", email: " by e-mail", uniqueId: " by unique id" };
  const others = { identity: " by identity", requestId: " by request", object: "" };
  return { icon, label: showInvisible(title ?? id), note: noun + { ...found, ...others }[match], href };
}

function entryPage({ id, title }: Hit): string {
  return `/audit?${new URLSearchParams({ ...(title !== undefined && { action: title }), panel: id })}`;
}
