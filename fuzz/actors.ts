import { createHmac } from "node:crypto";

/** Who calls, with what they have. */

interface Anybody {
  /** For reports. */
  readonly name: string;
  token: string;
  /** False once the token has ended, or may have. */
  isAlive: boolean;
}

/** A user of an application, or a device that nobody has signed in on. */
export interface Client extends Anybody {
  readonly kind: "user" | "device";
  readonly application: Application;
  readonly deviceId: string;
  /** Empty for a device. */
  readonly userId: string;
  readonly userName: string;
  readonly password: string;
  readonly email: string;
  /** Ids of what this client has made and may destroy. */
  readonly own: Pool;
  /** Ids of what has to stay as it is. */
  readonly sealed: Pool;
  /** What listings gave for further pages. */
  readonly pageTokens: string[];
  readonly signedUrls: string[];
}

export interface Operator extends Anybody {
  readonly kind: "operator";
  readonly operatorId: string;
  readonly role: "viewer" | "editor" | "owner";
  readonly operatorName: string;
  readonly password: string;
  readonly pageTokens: string[];
}

export type Actor = Client | Operator;

export interface Application {
  readonly name: string;
  readonly appid: string;
  readonly appkey: string;
  /** Of signed requests. */
  readonly secret?: string;
  /** Whether operators may do anything to it. */
  readonly isSandbox: boolean;
  /** Whether the operations of `disabledOperations` are switched off. */
  readonly isNarrow: boolean;
  isAlive: boolean;
  /** How often operators were sent to it. */
  uses: number;
  /** Ids of what is in it, for operators. */
  readonly all: Pool;
  readonly fingerprints: string[];
  /** Ids of users, each with that of a token. */
  readonly tokens: (readonly [userId: string, tokenId: string])[];
  /** Users who may be deleted, whose passwords may be set, and so on. */
  readonly victims: Client[];
}

/** Ids by their prefix, such as `chk`. */
export interface Pool {
  add(id: string): void;
  remove(id: string): void;
  of(prefix: string): readonly string[];
}

const idsMax = 200;

export function createPool(): Pool {
  const ids = new Map<string, string[]>();
  return {
    add(id) {
      const prefix = id.slice(0, 3);
      const list = ids.get(prefix) ?? [];
      if (list.length >= idsMax) list.shift();
      list.push(id);
      ids.set(prefix, list);
    },
    remove(id) {
      const list = ids.get(id.slice(0, 3));
      const index = list?.indexOf(id) ?? -1;
      if (index !== -1) list?.splice(index, 1);
    },
    of: (prefix) => ids.get(prefix) ?? [],
  };
}

/** What follows `Service ` in Authorization. @param path without the query, as it is sent */
export function credentialsOf(actor: Actor, method: string, path: string): string {
  if (actor.kind === "operator" || actor.application.secret === undefined) return actor.token;
  const { appid, secret } = actor.application;
  return `${actor.token} ${createHmac("sha256", secret).update(`${method}\n${appid}\n${path}`).digest("hex")}`;
}
