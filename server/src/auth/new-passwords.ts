import { hash } from "node:crypto";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { PasswordSettings } from "../contract/policy.ts";
import type { Database } from "../db/database.ts";
import { type Outgoing, OutgoingError } from "../http/outgoing/outgoing.ts";
import { ApiError } from "../lib/errors.ts";

/** Checks new passwords (spec/users#password-rules). */
export interface NewPasswords {
  /**
   * @param parameter the name of the parameter with the password
   * @throws ApiError ParameterOutOfRange naming the rule
   */
  require(password: string, parameter: string, rules: PasswordSettings): Promise<void>;
}

const prefixCharacters = 5;
const timeoutMs = 2_000;
/** A range has some 1,000 lines of 40 characters. */
const rangeBytesMax = 1_048_576;

export function createNewPasswords(
  { breachedPasswordsUrl }: Pick<Config, "breachedPasswordsUrl">,
  services: {
    readonly database: Pick<Database, "outsideTransaction">;
    readonly outgoing: Pick<Outgoing, "fetchBytes">;
    readonly log: Log;
  },
): NewPasswords {
  const { database, outgoing, log } = services;

  /** Asks for all breached passwords whose SHA-1 begins like this one's. False when the service cannot be asked. */
  async function isBreached(digest: string): Promise<boolean> {
    if (breachedPasswordsUrl === undefined) return false;
    const url = `${breachedPasswordsUrl.replace(/\/$/, "")}/${digest.slice(0, prefixCharacters)}`;
    const bounds = { bytesMax: rangeBytesMax, timeoutMs, acceptsType: isText, isPublicOnly: false };
    try {
      const range = (await outgoing.fetchBytes(url, bounds)).toString();
      const suffix = digest.slice(prefixCharacters);
      return range.split("\n").some((line) => {
        const [found = "", count = ""] = line.trim().split(":");
        return found.toUpperCase() === suffix && Number(count) > 0; // 0 for lines that pad the answer
      });
    } catch (err) {
      if (!(err instanceof OutgoingError)) throw err;
      log.warn({ err }, "the service of breached passwords cannot be asked, so new passwords are accepted");
      return false;
    }
  }

  return {
    async require(password, parameter, { minLength = 0, refuseBreached = false }) {
      if ([...password].length < minLength) {
        throw new ApiError("ParameterOutOfRange", `${parameter} must have at least ${minLength} characters.`, {
          parameter,
        });
      }
      if (!refuseBreached) return;
      const digest = hash("sha1", password, "hex").toUpperCase();
      if (!(await database.outsideTransaction(`breached ${digest}`, () => isBreached(digest)))) return;
      throw new ApiError("ParameterOutOfRange", `${parameter} is known from a data breach. Choose another one.`, {
        parameter,
      });
    },
  };
}

function isText(mediaType: string): boolean {
  return mediaType === "text/plain";
}
