import type { ApplicationHits, DeploymentHits, SearchHit } from "../api/admin.ts";
import { known } from "../api/send.ts";
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
  /** What tells it from others of the same label. */
  readonly detail?: string;
  /** The keyboard shortcut for it. */
  readonly keys?: string;
  readonly href: string;
  /** What happens in place of a page. */
  readonly run?: () => void;
}

interface HitKind {
  readonly noun: string;
  readonly icon: Icon;
  readonly page: (hit: SearchHit) => string;
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
  users: { noun: "User", icon: User, page: ({ id, appid }) => `/apps/${appid}/users/${encodeURIComponent(id)}` },
  operators: { noun: "Operator", icon: ShieldUser, page: ({ id }) => `/operators?panel=${id}` },
  audit: { noun: "Audit log", icon: ScrollText, page: entryPage },
};

/** The page of an id. */
export function findById(text: string, appid: string | undefined): Destination[] {
  const href = addressOfId(text, appid);
  return href === undefined ? [] : [{ icon: Hash, label: text, note: "By its id", href }];
}

/**
 * The screens, the acts of the page and its single keys whose names match the text: those that begin with it before those
 * with a word that does, and of equal ones the acts of an object before those of the application.
 */
export function findCommands(
  text: string,
  appid: string | undefined,
  acts: ReturnType<typeof listActs>,
  shortcuts: readonly Shortcut[],
): Destination[] {
  const ranked = [
    ...rankPlaces(text, appid),
    ...(text === "" ? [] : [...rankActs(text, acts), ...rankKeys(text, shortcuts)]),
  ];
  return ranked.sort((one, other) => one.rank - other.rank).map(({ found }) => found);
}

interface Ranked {
  readonly rank: number;
  readonly found: Destination;
}

function rankPlaces(text: string, appid: string | undefined): Ranked[] {
  const own = appid === undefined ? [] : applicationNavigation.flat();
  const places = [
    ...own.map((place) => ({ ...place, note: "" })),
    ...deploymentNavigation.map((place) => ({ ...place, note: own.length === 0 ? "" : "Deployment" })),
  ];
  return places.flatMap(({ icon, label, to, key, note }) => {
    const shown = note === label ? "" : note;
    const href = to.replace("$appid", appid ?? "");
    return ranked(rankOf(text, label), { icon, label, note: shown, keys: `g ${key}`, href });
  });
}

/** "disable", or "disable ada" with the name of the object. */
function rankActs(text: string, acts: ReturnType<typeof listActs>): Ranked[] {
  const [first = "", ...others] = text.split(/\s+/);
  return acts.flatMap(({ label, icon = Zap, subject: note, run }) => {
    const isOfSubject = others.every((word) => rankOf(word, `${label} ${note}`) !== undefined);
    const rank = rankOf(text, label) ?? (isOfSubject ? rankOf(first, label) : undefined);
    return ranked(rank, { icon, label, note, href: `act ${label} ${note}`, run });
  });
}

function rankKeys(text: string, shortcuts: readonly Shortcut[]): Ranked[] {
  return shortcuts
    .filter(({ keys }) => /^\w$/.test(keys))
    .flatMap(({ keys, label, run }) =>
      ranked(rankOf(text, label), { icon: Zap, label, note: "Do it now", keys, href: `act ${keys}`, run }),
    );
}

function ranked(rank: number | undefined, found: Destination): Ranked[] {
  return rank === undefined ? [] : [{ rank, found }];
}

/** 0 if the label begins with the query, 1 if one of its words does. Never inside a word: "end" does not find "Suspend". */
function rankOf(text: string, label: string): 0 | 1 | undefined {
  const [sought, shown] = [text.toLowerCase(), label.toLowerCase()];
  if (shown.startsWith(sought)) return 0;
  const isInWord = [...shown.matchAll(/[\p{L}\p{N}]+/gu)].some(({ index }) => shown.startsWith(sought, index));
  return isInWord ? 1 : undefined;
}

const recentMax = 5;
/** Only in memory, so that the next operator of this browser does not see them. */
let recent: readonly Destination[] = [];

export function rememberDestination(destination: Destination): void {
  if (destination.run !== undefined) return;
  recent = [destination, ...recent.filter(({ href }) => href !== destination.href)].slice(0, recentMax);
}

/** Where the palette led last, the latest first. */
export function listRecent(): readonly Destination[] {
  return recent.map((destination) => ({ ...destination, note: "Recent" }));
}

/** The pages of the search results, without duplicates from the two searches. */
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
  const known = new Set([...(inApplication?.audit ?? []), ...(inApplication?.users ?? [])].map(({ id }) => id));
  const ofDeployment = Object.entries(pagesOfDeployment).flatMap(([kind, shown]) =>
    (inDeployment?.[kind as keyof DeploymentHits] ?? [])
      .filter(({ id }) => !known.has(id))
      .flatMap((hit) => (hit.match === "object" ? ownerLine(text, appid, hit) : lineOf(hit, shown, shown.page(hit)))),
  );
  return [...ofApplication, ...ofDeployment];
}

/** The page of an id in the application that has the object: this one, or another. */
function ownerLine(id: string, appid: string | undefined, { id: owner, title = owner }: SearchHit): Destination[] {
  const href = addressOfId(id, owner);
  const note = owner === appid ? "By its id" : `Look in ${showInvisible(title)}`;
  return href === undefined ? [] : [{ icon: Hash, label: id, note, href }];
}

function lineOf(
  { id, title, detail, application, match }: SearchHit,
  { noun, icon }: HitKind,
  href: string,
): Destination {
  const found = { id: " by id", name: "", personName: " by name", email: " by e-mail", uniqueId: " by unique id" };
  const others = { identity: " by identity", requestId: " by request", object: "" };
  const place = application === undefined ? "" : ` in ${showInvisible(application)}`;
  return {
    icon,
    label: showInvisible(title ?? id),
    ...(detail !== undefined && { detail: showInvisible(detail) }),
    note: `${noun}${{ ...found, ...others }[known(match)]}${place}`,
    href,
  };
}

function entryPage({ id, title }: SearchHit): string {
  return `/audit?${new URLSearchParams({ ...(title !== undefined && { action: title }), panel: id })}`;
}
