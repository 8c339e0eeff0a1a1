import { hash, randomBytes } from "node:crypto";
import type { Browser } from "../contract/browser.ts";
import type { OperatorRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import { createSealer } from "../lib/seal.ts";

/**
 * A browser from which an operator has signed in. It proves nothing: it only exempts its owner from queueing with
 * unrecognized callers.
 */
export interface OperatorMark {
  readonly operatorId: string;
  /** The version of the password, so that the mark ends with it. */
  readonly passwordVersion: string;
  /** Random, unique per sign-in. */
  readonly id: string;
}

/** Marks browsers with a sealed cookie. */
export interface OperatorMarks {
  /**
   * @returns undefined for a mark that is forged, expired, of another deployment, or sent by a page of another origin
   */
  read(browser: Browser | undefined): OperatorMark | undefined;
  /** Whether the mark belongs to this operator and its current password. */
  isOf(mark: OperatorMark, operator: OperatorRow): boolean;
  set(browser: Browser | undefined, operator: Pick<OperatorRow, "id" | "password_hash">): void;
}

const lifetimeMs = 180 * 86_400_000;

export function createOperatorMarks(
  settings: { readonly secrets: readonly string[]; readonly region: string; readonly publicUrl: string | undefined },
  clock: Clock,
): OperatorMarks {
  const { secrets, region, publicUrl } = settings;
  const sealer = createSealer(secrets, "operator mark");
  const path = publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/+$/, "");

  /** The name keeps other services on the host from receiving the cookie; `__Host-` requires the path `/`. */
  function nameFor({ isSecure, port }: Browser): string {
    const prefix = isSecure ? (path === "" ? "__Host-" : "__Secure-") : "";
    return `${prefix}rollcall-known-${port}`;
  }

  function attributesFor({ isSecure }: Browser): string[] {
    return [
      `Path=${path === "" ? "/" : `${path}/_/api`}`,
      `Max-Age=${lifetimeMs / 1_000}`,
      "HttpOnly",
      "SameSite=Strict",
      ...(isSecure ? ["Secure"] : []),
    ];
  }

  return {
    read(browser) {
      if (browser === undefined || !browser.isSameOrigin) return undefined;
      const sealed = browser.readCookie(nameFor(browser));
      const text = sealed === undefined ? undefined : sealer.open(sealed, region);
      if (text === undefined) return undefined;
      const [operatorId, passwordVersion, id, expiresAt] = JSON.parse(text) as [string, string, string, number]; // sealed here
      return expiresAt > clock.now() ? { operatorId, passwordVersion, id } : undefined;
    },

    isOf: (mark, operator) =>
      mark.operatorId === operator.id && mark.passwordVersion === passwordVersionOf(operator.password_hash),

    set(browser, { id, password_hash }) {
      if (browser === undefined || !browser.isSameOrigin) return;
      const mark = [
        id,
        passwordVersionOf(password_hash),
        randomBytes(12).toString("base64url"),
        clock.now() + lifetimeMs,
      ];
      browser.setCookie(nameFor(browser), sealer.seal(JSON.stringify(mark), region), attributesFor(browser));
    },
  };
}

/** The hash has a random salt, so every change gives another version, even to the same password. */
function passwordVersionOf(passwordHash: string): string {
  return hash("sha256", passwordHash, "base64url").slice(0, 16);
}
