import type { Schema } from "../contract/schema.ts";
import { readWireValue } from "../contract/wire.ts";
import type { UserRow } from "../db/tables.ts";
import { takeRandomBytes } from "../lib/random.ts";
import { digestSecret } from "../lib/secrets.ts";
import { CreateUser } from "./users.contract.ts";
import { requireUserNameKey } from "./users.names.ts";
import { newUserRow } from "./users.store.ts";

/** The user of a first social login, from the claims of the id_token. */
export function newSocialUser(
  user: { readonly applicationId: string; readonly id: string; readonly userName: string; readonly at: number },
  claims: Readonly<Record<string, unknown>>,
): UserRow {
  const { email, firstName, lastName } = CreateUser.properties;
  return newUserRow({
    application_id: user.applicationId,
    id: user.id,
    user_name: user.userName,
    user_name_key: requireUserNameKey(user.userName),
    password_hash: "",
    // An address that the provider has not verified may belong to another person, and resets go by mail.
    email: claims["email_verified"] === true ? readClaim(email, claims["email"]) || null : null,
    first_name: readClaim(firstName, claims["given_name"]),
    last_name: readClaim(lastName, claims["family_name"]),
    created_at: user.at,
  });
}

const providerCharactersMax = 40; // the folded form of a user name has a maximum size
const digestCharacters = 16;

/**
 * The generated name of a social user. Others see it, so it does not contain the subject, which would identify the
 * person elsewhere.
 */
export function socialUserName(provider: string, subject: string): string {
  const shownProvider = [...provider].slice(0, providerCharactersMax).join("");
  return `${shownProvider}-${digestSecret(`${provider}\0${subject}`).slice(0, digestCharacters)}`;
}

/** An alternative for a name that is taken. */
export function anotherUserName(userName: string): string {
  return `${userName}-${takeRandomBytes(6).toString("hex")}`;
}

/** A text claim that is valid under the contract, or null. */
function readClaim(schema: Schema, claim: unknown): string | null {
  if (typeof claim !== "string" || claim === "") return null;
  return "value" in readWireValue(schema, claim) ? claim : null;
}
