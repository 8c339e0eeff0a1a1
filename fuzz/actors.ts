import { createHmac } from "node:crypto";

/** A caller and its credentials. */

interface Anybody {
  /** The name in reports. */
  readonly name: string;
  token: string;
  /** False once the token is revoked, or may be. */
  isAlive: boolean;
}

/** A user of an application, or a device without a signed-in user. */
export interface Client extends Anybody {
  readonly kind: "user" | "device";
  readonly application: Application;
  readonly deviceId: string;
  /** Empty for a device. */
  readonly userId: string;
  readonly userName: string;
  readonly password: string;
  readonly email: string;
  /** Ids of the objects that this client has created and may delete. */
  readonly own: Pool;
  /** Ids of the objects that must stay unchanged. */
  readonly sealed: Pool;
  /** Page tokens from listings. */
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
  /** The shared secret of signed requests. */
  readonly secret?: string;
  /** Whether operators may change or delete anything in it. */
  readonly isSandbox: boolean;
  /** Whether the operations of `disabledOperations` are disabled. */
  readonly isNarrow: boolean;
  isAlive: boolean;
  /** The number of operator calls that have used it. */
  uses: number;
  /** Ids of its objects, for operators. */
  readonly all: Pool;
  readonly fingerprints: string[];
  /** Ids of locations that operators may change and delete. */
  readonly publicLocations: string[];
  /** Ids of users, each with the id of a token. */
  readonly tokens: (readonly [userId: string, tokenId: string])[];
  /** The payload that was sent to a webhook. */
  readonly deliveries: (readonly [webhookId: string, deliveryId: string])[];
  /** Users whom operators may delete, set passwords of, and so on. */
  readonly victims: Client[];
}

/** Ids by their prefix (`chk` for check-ins). */
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

/** The credentials after `Service ` in Authorization. @param path without the query, as it is sent */
export function credentialsOf(actor: Actor, method: string, path: string): string {
  if (actor.kind === "operator" || actor.application.secret === undefined) return actor.token;
  const { appid, secret } = actor.application;
  return `${actor.token} ${createHmac("sha256", secret).update(`${method}\n${appid}\n${path}`).digest("hex")}`;
}
