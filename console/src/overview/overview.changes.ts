import type { ApplicationOverview } from "../api/admin.ts";
import { showInvisible } from "../lib/format.ts";
import type { ChartMarker } from "../ui/time-chart.parts.ts";

const words: Readonly<Record<string, string>> = {
  changeApplicationSettings: "Settings changed",
  putApplicationSettings: "Settings changed",
  createApplicationKey: "Key created",
  retireApplicationKey: "Key retired",
  revokeKeyTokens: "Tokens of a key ended",
  revokeApplicationTokens: "All tokens ended",
  replaceApplicationKeys: "All keys replaced",
  putSigningSecret: "Shared secret set",
  deleteSigningSecret: "Shared secret removed",
  suspendApplication: "Suspended",
  resumeApplication: "Resumed",
};

/** The changes of operators and the new versions of the app, in words. */
export function listChanges({ markers, newVersions }: ApplicationOverview): readonly ChartMarker[] {
  const changes = markers.map(({ at, action, by }) => {
    const label = words[action] ?? action;
    const text = by === undefined ? label : `${label} by ${showInvisible(by)}`;
    return { at: at.getTime(), kind: "change", label: text } as const;
  });
  const versions = newVersions.map((version) => {
    const label = `New app version ${showInvisible(version.appVersion)}${platformsOf(version)}`;
    return { at: version.firstSeen.getTime(), kind: "version", label } as const;
  });
  return [...changes, ...versions];
}

/** Also of one platform: the version of the other may follow. */
export function platformsOf({ platforms }: ApplicationOverview["newVersions"][number]): string {
  return platforms.length === 0 ? "" : ` on ${platforms.map(showInvisible).join(", ")}`;
}
