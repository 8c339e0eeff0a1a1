import { settings } from "./settings.ts";

/** A setting that differs from its default. */
export interface ChangedSetting {
  readonly name: string;
  /** `set` for a secret. */
  readonly value: string;
  readonly about: string;
}

/** User information in a URL, written plainly or percent-encoded. */
const credentials = /\/\/.*@|%40/;

export function listChangedSettings(environment: Readonly<Record<string, string | undefined>>): ChangedSetting[] {
  return settings.flatMap(({ name, default: usual, about, isSecret = false }) => {
    const value = environment[name]?.trim() || usual;
    if (value === usual) return [];
    return [{ name, value: isSecret || credentials.test(value) ? "set" : value, about }];
  });
}
