import { hash, randomBytes } from "node:crypto";
import type { Browser } from "../contract/browser.ts";
import type { OperatorRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import { createSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { createCookie } from "./operator-cookie.ts";

/**
 * A browser from which an operator has signed in. It proves nothing: it only exempts its owner from queueing with
 * unrecognized callers.
 */
export interface OperatorMark {
  readonly operatorId: string;
  /** The version of the password, so that a new password invalidates the mark. */
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
  settings: { readonly secrets: Secrets; readonly region: string; readonly publicUrl: string | undefined },
  clock: Clock,
): OperatorMarks {
  const { secrets, region, publicUrl } = settings;
  const sealer = createSealer(secrets, "operator mark");
  const cookie = createCookie("rollcall-known", publicUrl);

  return {
    read(browser) {
      if (browser === undefined || !browser.isSameOrigin) return undefined;
      const sealed = cookie.read(browser);
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
      cookie.set(browser, sealer.seal(JSON.stringify(mark), region), lifetimeMs / 1_000);
    },
  };
}

/** The hash has a random salt, so every change gives another version, even to the same password. */
function passwordVersionOf(passwordHash: string): string {
  return hash("sha256", passwordHash, "base64url").slice(0, 16);
}
