import type { Actor } from "./actors.ts";

/** The callers that may read a seeded text. */
export interface Audience {
  /** All users and devices of this application; undefined for the owner only. */
  readonly appid?: string;
  /** This user or device. */
  readonly ownerId?: string;
  readonly isForOperators: boolean;
}

/** A unique text: a response that contains it can only have it from the seeded object. */
export interface Marker extends Audience {
  readonly text: string;
  /** The role in which it was seeded, for reports. */
  readonly what: string;
}

export interface Markers {
  add(text: string, what: string, audience: Audience): string;
  /** A request with the password of a user may read what that user may read. */
  addPassword(password: string, what: string, userId: string): void;
  /** A new text, recorded as by {@link Markers.add}. */
  make(what: string, audience: Audience): string;
  /** The markers in the text that the caller may not read and that were not in the request. */
  findLeaks(text: string, request: string, caller: Actor | undefined): Marker[];
  /** Markers that only their owner may see, such as passwords. */
  readonly secrets: readonly Marker[];
  readonly count: number;
}

const beginning = "mk7q";
// Every seeded text has one of these forms: our own texts, ids, hashes and tokens.
const candidates = /mk7q[a-z0-9]{14}|[a-z]{3}_[0-9a-z]{26}|[0-9a-f]{64}|[A-Za-z0-9_.-]{60,}|\d{1,3}\.\d{9}/g;

export function createMarkers(newWord: (length: number) => string): Markers {
  const byText = new Map<string, Marker>();
  const secrets: Marker[] = [];
  const passwords = new Map<string, string>();

  function add(text: string, what: string, audience: Audience): string {
    const marker = { text, what, ...audience };
    byText.set(text, marker);
    if (!audience.isForOperators && audience.appid === undefined) secrets.push(marker);
    return text;
  }

  return {
    add,
    addPassword(password, what, userId) {
      add(password, what, { isForOperators: false });
      passwords.set(userId, password);
    },
    make: (what, audience) => add(`${beginning}${newWord(14)}`, what, audience),
    findLeaks(text, request, caller) {
      const found = new Set<Marker>();
      for (const [candidate] of text.matchAll(candidates)) {
        const marker = byText.get(candidate);
        if (marker === undefined || mayRead(marker, caller) || request.includes(candidate)) continue;
        const password = passwords.get(marker.ownerId ?? "");
        if (password === undefined || !request.includes(password)) found.add(marker);
      }
      return [...found];
    },
    secrets,
    get count() {
      return byText.size;
    },
  };
}

function mayRead({ appid, ownerId, isForOperators }: Audience, caller: Actor | undefined): boolean {
  if (caller === undefined) return false;
  if (caller.kind === "operator") return isForOperators;
  const isOwner = ownerId !== undefined && (ownerId === caller.userId || ownerId === caller.deviceId);
  return isOwner || (appid !== undefined && appid === caller.application.appid);
}
