import type { ApplicationHits, DeploymentHits, Hit } from "../api/search.ts";
import { showInvisible } from "../lib/format.ts";
import { addressOfId } from "./ids.ts";
import { applicationNavigation, deploymentNavigation } from "./navigation.ts";

/** A line of the palette. */
export interface Destination {
  readonly label: string;
  readonly note: string;
  readonly href: string;
}

/** Where the hits of each kind are shown; kinds without a screen are left out. */
const pagesOfApplication: Partial<Record<keyof ApplicationHits, { readonly noun: string; readonly page: PageOfHit }>> =
  {
    users: { noun: "User", page: ({ id }) => `/users/${encodeURIComponent(id)}` },
    devices: { noun: "Device", page: ({ id }) => `/devices/${encodeURIComponent(id)}` },
    keys: { noun: "Key", page: () => "/keys" },
    crashes: { noun: "Crash", page: ({ id }) => `/crashes/${encodeURIComponent(id)}` },
    metrics: { noun: "Metric", page: ({ id }) => `/metrics/${encodeURIComponent(id)}` },
    requests: { noun: "Call", page: ({ id }) => `/requests?requestId=${encodeURIComponent(id)}` },
    audit: { noun: "Audit log", page: entryPage },
  };

const pagesOfDeployment: Record<keyof DeploymentHits, { readonly noun: string; readonly page: PageOfHit }> = {
  applications: { noun: "Application", page: ({ id }) => `/apps/${id}/overview` },
  operators: { noun: "Operator", page: ({ id }) => `/operators?panel=${id}` },
  audit: { noun: "Audit log", page: entryPage },
};

type PageOfHit = (hit: Hit) => string;

/** The screens with the text in their names, and the page of an id. */
export function findPlaces(text: string, appid: string | undefined): Destination[] {
  const address = addressOfId(text, appid);
  if (address !== undefined) return [{ label: text, note: "by its id", href: address }];
  const places = [...(appid === undefined ? [] : applicationNavigation.flat()), ...deploymentNavigation];
  return places
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    .map(({ label, to, key }) => ({ label, note: `g ${key}`, href: to.replace("$appid", appid ?? "") }));
}

/** The pages of what the server has found. An entry that both searches found is shown once. */
export function findPages(
  appid: string | undefined,
  inApplication: ApplicationHits | undefined,
  inDeployment: DeploymentHits | undefined,
): Destination[] {
  const ofApplication = Object.entries(pagesOfApplication).flatMap(([kind, { noun, page }]) =>
    (inApplication?.[kind as keyof ApplicationHits] ?? []).map((hit) =>
      lineOf(hit, noun, `/apps/${appid}${page(hit)}`),
    ),
  );
  const known = new Set((inApplication?.audit ?? []).map(({ id }) => id));
  const ofDeployment = Object.entries(pagesOfDeployment).flatMap(([kind, { noun, page }]) =>
    (inDeployment?.[kind as keyof DeploymentHits] ?? [])
      .filter(({ id }) => !known.has(id))
      .map((hit) => lineOf(hit, noun, page(hit))),
  );
  return [...ofApplication, ...ofDeployment];
}

function lineOf({ id, title, match }: Hit, noun: string, href: string): Destination {
  const found = { id: " by id", name: "", email: " by e-mail", uniqueId: " by unique id" };
  const others = { identity: " by identity", requestId: " by request" };
  return { label: showInvisible(title ?? id), note: noun + { ...found, ...others }[match], href };
}

function entryPage({ id, title }: Hit): string {
  return `/audit?${new URLSearchParams({ ...(title !== undefined && { action: title }), panel: id })}`;
}
