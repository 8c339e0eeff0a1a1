import type { OidcProvider } from "../auth/oidc.ts";
import type { Queries } from "../db/database.ts";

/** What an operator sets for one application with `rollcall apps configure` (surface.md section 5). */
export interface ApplicationSettings {
  /** OpenID Connect providers by identityProviderName. */
  readonly oidc: Readonly<Record<string, OidcProvider>>;
}

/** The text does not make settings; `problems` has a line per wrong member, all of them at once. */
export class ApplicationSettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Wrong application settings:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.name = "ApplicationSettingsError";
    this.problems = problems;
  }
}

/**
 * Reads settings from their JSON.
 *
 * @throws ApplicationSettingsError naming each wrong member and its rule
 */
export function parseApplicationSettings(text: string): ApplicationSettings {
  const problems: string[] = [];

  /** The members of an object; those that are not known are problems. */
  function membersOf(value: unknown, name: string, known?: readonly string[]): [string, unknown][] {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      problems.push(`${name} must be an object`);
      return [];
    }
    const members = Object.entries(value);
    for (const [member] of known === undefined ? [] : members) {
      if (!known?.includes(member)) problems.push(`${nameIn(name, member)} is no setting; there are ${known?.join(", ")}`);
    }
    return members;
  }
  function text_(value: unknown, name: string): string {
    if (typeof value === "string" && value.trim() !== "") return value;
    problems.push(`${name} must be a text that is not empty`);
    return "";
  }

  return { oidc: {} };
}
