import type { Actor } from "./actors.ts";

/** Whose eyes a seeded text is for. */
export interface Audience {
  /** All users and devices of this application; undefined for none of them but the owner. */
  readonly appid?: string;
  /** This user or device. */
  readonly ownerId?: string;
  readonly isForOperators: boolean;
}

/** A text that is nowhere else, so that an answer that has it has it from there. */
export interface Marker extends Audience {
  readonly text: string;
  /** What it was seeded as, for reports. */
  readonly what: string;
}

export interface Markers {
  add(text: string, what: string, audience: Audience): string;
  /** Whoever knows the password of a user may be that user. */
  addPassword(password: string, what: string, userId: string): void;
  /** A new text, remembered as {@link Markers.add} does. */
  make(what: string, audience: Audience): string;
  /** Those in the text that were not in the request, and are for others. */
  findLeaks(text: string, request: string, caller: Actor | undefined): Marker[];
  /** Those that nobody but who has them is to see, such as passwords. */
  readonly secrets: readonly Marker[];
  readonly count: number;
}

const beginning = "mk7q";
// Everything that is seeded looks like one of these: our own texts, ids, hashes and tokens.
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
