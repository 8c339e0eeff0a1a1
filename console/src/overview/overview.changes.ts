import type { Overview } from "../api/statistics.ts";
import { parseTime, showInvisible } from "../lib/format.ts";
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

/** The changes of operators, in words. */
export function listChanges({ markers }: Overview): readonly ChartMarker[] {
  return markers.map(({ at, action, by }) => {
    const label = words[action] ?? action;
    return { at: parseTime(at), label: by === undefined ? label : `${label} by ${showInvisible(by)}` };
  });
}
