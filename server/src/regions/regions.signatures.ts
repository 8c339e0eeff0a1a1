import { hash } from "node:crypto";
import type { Config } from "../config/config.ts";
import { isRegionKey, keysBetween } from "../config/region-keys.ts";
import { createSigner, type Signer } from "../lib/signer.ts";

/** The head of a call to another region; all of it is signed. */
export interface CallHead {
  /** The name of the call. */
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly at: number;
  /** Unique to the call, and bound to its answer. */
  readonly nonce: string;
  /** The digest of the body; for a stream, {@link streamed} and its subject. */
  readonly digest: string;
  /** Signed as in releases without a key for each direction; its answer is signed in the same way. */
  readonly isFormer?: true;
}

/** Replaces the digest of a streamed body: the answer reports the digest of what arrived. */
export const streamed = "stream:";

/** The header with the head of a call. */
export const callHeader = "rollcall-region-call";
/** The header with the signature of an answer. */
export const answerHeader = "rollcall-region-answer";

/** Authenticates calls and answers between regions, with a key for each pair of regions, derived from REGION_SECRET. */
export interface CallSignatures {
  /** Returns the header of a call. @throws Error if REGION_SECRET has no key for the other region */
  sign(head: CallHead): string;
  /** Returns the call of a header if the named region has signed it. The caller must check its age. */
  read(name: string, header: string): CallHead | undefined;
  signAnswer(head: CallHead, body: Buffer): string;
  isAnswer(head: CallHead, body: Buffer, signature: string): boolean;
}

type Settings = Pick<Config, "region" | "regionSecrets"> & { readonly regions: { has(name: string): boolean } };

/**
 * Each direction between two regions has a separate key, bound to the names of caller and callee, for calls and for
 * answers: one region cannot sign for another.
 *
 * Calls of older releases are signed with the shared secret itself. They are accepted and answered in the same way, so
 * that regions can be upgraded one after the other. A region without the shared secret can neither create nor verify
 * them.
 */
export function createCallSignatures({ region: own, regions, regionSecrets }: Settings): CallSignatures {
  const signers = new Map<string, Signer | undefined>();
  const shared = regionSecrets.filter((entry) => !isRegionKey(entry));
  const former =
    shared.length === 0
      ? undefined
      : {
          calls: createSigner(shared, "call between regions"),
          answers: createSigner(shared, "answer between regions"),
        };

  /** @returns undefined if REGION_SECRET has no key for the two */
  function signerOf(kind: "call" | "answer", { from, to }: Pick<CallHead, "from" | "to">): Signer | undefined {
    const purpose = `${kind} from ${from} to ${to}`;
    if (!signers.has(purpose)) {
      const keys = keysBetween([from, to], own, regionSecrets);
      signers.set(purpose, keys.length === 0 ? undefined : createSigner(keys, purpose));
    }
    return signers.get(purpose);
  }

  function requireSigner(kind: "call" | "answer", head: CallHead): Signer {
    const signer = signerOf(kind, head);
    if (signer === undefined) throw new Error(`REGION_SECRET has no key for ${head.from} and ${head.to}`);
    return signer;
  }

  return {
    sign(head) {
      const words = wordsOf(head);
      return [...words, requireSigner("call", head).sign(signedText(head.name, words))].join(" ");
    },

    read(name, header) {
      const [from = "", to = "", at = "", nonce = "", digest = "", signature = "", more] = header.split(" ", 7);
      // Checked first, because keys are cached for each pair of names.
      if (more !== undefined || to !== own || from === own || !regions.has(from)) return undefined;
      const words = [from, to, at, nonce, digest];
      const text = signedText(name, words);
      const head = { name, from, to, at: Number(at), nonce, digest };
      if (signerOf("call", head)?.isSigned(text, signature) === true) return head;
      return former?.calls.isSigned(text, signature) === true ? { ...head, isFormer: true } : undefined;
    },

    signAnswer(head, body) {
      const signer = head.isFormer === true ? former?.answers : requireSigner("answer", head);
      if (signer === undefined) throw new Error("a call of this form is read with a shared secret alone");
      return signer.sign(answerText(head, body));
    },

    isAnswer: (head, body, signature) => requireSigner("answer", head).isSigned(answerText(head, body), signature),
  };
}

export function digestOf(body: Buffer): string {
  return hash("sha256", body, "base64url");
}

function wordsOf({ from, to, at, nonce, digest }: CallHead): string[] {
  return [from, to, `${at}`, nonce, digest];
}

function signedText(name: string, words: readonly string[]): string {
  return [name, ...words].join("\n");
}

function answerText(head: CallHead, body: Buffer): string {
  return signedText(head.name, [...wordsOf(head), digestOf(body)]);
}
