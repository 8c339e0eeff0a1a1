import type { Queries } from "../db/database.ts";
import { fieldsOf } from "../lib/fields.ts";
import type { ApplicationSettings } from "./application-settings.ts";

/** The operator who last changed a member of the settings, or `cli`. */
export interface SettingsAuthor {
  readonly id: string;
  readonly name: string;
}

/** The last recorded change of each member. */
export type SettingsChanges = Readonly<Record<string, SettingsAuthor & { readonly at: number }>>;

export async function loadSettingsChanges(applicationId: string, queries: Queries): Promise<SettingsChanges> {
  const row = await queries
    .selectFrom("applications")
    .select("settings_changes")
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  return parseChanges(row?.settings_changes ?? null);
}

/** Skips malformed entries, because a restored backup can contain any string. */
function parseChanges(stored: string | null): SettingsChanges {
  let members: unknown;
  try {
    members = JSON.parse(stored ?? "{}");
  } catch {
    return {};
  }
  const read = Object.entries(fieldsOf(members)).flatMap(([member, change]) => {
    const { at, id, name } = fieldsOf(change);
    const isWellFormed = Number.isSafeInteger(at) && typeof id === "string" && typeof name === "string";
    return isWellFormed ? [[member, { at: Number(at), id, name }] as const] : [];
  });
  return Object.fromEntries(read);
}

/** Records who has changed which members. */
export async function updateSettingsChanges(
  applicationId: string,
  { before, after }: { readonly before: ApplicationSettings; readonly after: ApplicationSettings },
  change: SettingsAuthor & { readonly at: number },
  queries: Queries,
): Promise<void> {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const members = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const changed = members.filter((member) => JSON.stringify(was[member]) !== JSON.stringify(is[member]));
  if (changed.length > 0) await recordSettingsChange(applicationId, changed, change, queries);
}

/** Records who has changed these members, in the transaction of the change. */
export async function recordSettingsChange(
  applicationId: string,
  changed: readonly string[],
  { at, id, name }: SettingsAuthor & { readonly at: number },
  queries: Queries,
): Promise<void> {
  const stored = await loadSettingsChanges(applicationId, queries);
  const next = { ...stored, ...Object.fromEntries(changed.map((member) => [member, { at, id, name }])) };
  await queries
    .updateTable("applications")
    .set({ settings_changes: JSON.stringify(next) })
    .where("application_id", "=", applicationId)
    .execute();
}
