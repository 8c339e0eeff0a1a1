import type { NewEvent } from "../event-log/recorder.ts";
import type { ApplicationSettings } from "../tenancy/application-settings.ts";

type ApplicationChange = "settings_changed" | "keys_changed" | "compromised" | "suspended" | "resumed";

/** Creates the event of an operator action on an application. */
export function applicationEvent(appid: string, change: ApplicationChange, changed: readonly string[] = []): NewEvent {
  return { type: `application.${change}`, objectId: appid, changed };
}

/** Creates the event of a change of settings, with the names of the changed settings. */
export function settingsEvent(appid: string, before: ApplicationSettings, after: ApplicationSettings): NewEvent {
  const members = [before, after].map((settings) => new Map(Object.entries(settings)));
  const names = new Set(members.flatMap((each) => [...each.keys()]));
  const changed = [...names].filter((name) => new Set(members.map((each) => JSON.stringify(each.get(name)))).size > 1);
  return applicationEvent(appid, "settings_changed", changed.toSorted());
}
