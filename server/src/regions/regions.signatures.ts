import { hash } from "node:crypto";
import { createSigner, type Signer } from "../lib/signer.ts";

/** What a region says of a call to another one; all of it is signed. */
export interface CallHead {
  /** Which call it is. */
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly at: number;
  /** Unique to the call; its answer is bound to it. */
  readonly nonce: string;
  /** Of the body; where that is not known before it is sent, {@link streamed} and what it is about. */
  readonly digest: string;
}

/** Begins what stands in place of the digest of a body that is sent while it is made: the answer tells what arrived. */
export const streamed = "stream:";

/** The head of a call, as it travels. */
export const callHeader = "rollcall-region-call";
/** The signature of an answer. */
export const answerHeader = "rollcall-region-answer";

/** Proves between regions who calls and who answers: with REGION_SECRET, which nobody else has. */
export interface CallSignatures {
  /** The header of a call. */
  sign(head: CallHead): string;
  /** The call that a header tells of, when it is signed. Whom it is for and how old it is are the caller's to judge. */
  read(name: string, header: string): CallHead | undefined;
  signAnswer(head: CallHead, body: Buffer): string;
  isAnswer(head: CallHead, body: Buffer, signature: string): boolean;
}

/** @param secrets the first signs, all are good */
export function createCallSignatures(secrets: readonly string[]): CallSignatures {
  const calls = createSigner(secrets, "call between regions");
  const answers: Signer = createSigner(secrets, "answer between regions");
  return {
    sign(head) {
      const words = wordsOf(head);
      return [...words, calls.sign(signedText(head.name, words))].join(" ");
    },

    read(name, header) {
      const [from = "", to = "", at = "", nonce = "", digest = "", signature = "", more] = header.split(" ", 7);
      const words = [from, to, at, nonce, digest];
      if (more !== undefined || !calls.isSigned(signedText(name, words), signature)) return undefined;
      return { name, from, to, at: Number(at), nonce, digest };
    },

    signAnswer: (head, body) => answers.sign(answerText(head, body)),
    isAnswer: (head, body, signature) => answers.isSigned(answerText(head, body), signature),
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
