import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { createSigner } from "../lib/signer.ts";
import type { FileKind } from "./files.kinds.ts";

/** The signature parameters in the query of a signedUrl, as the client sent them. */
interface GivenSignature {
  readonly application?: unknown;
  readonly expires?: unknown;
  readonly signature?: unknown;
}

/** Signs URLs that open one file without a token for a limited time (spec/files#signedurl). */
export interface FileLinks {
  urlOf(applicationId: string, path: string): string;
  /** Returns the application that the URL belongs to. @throws ApiError AuthSignatureInvalid */
  open(given: GivenSignature, path: string): string;
}

/** The path of a file's bytes. */
export function bytesPath({ collection }: FileKind, id: string): string {
  return `/${collection}/${id}/file`;
}

/** A URL stays the same for this long, so that clients can cache the bytes by URL. */
const stepMs = 300_000;

/** @param serverUrl the public URL of the server, available once it listens */
export function createFileLinks(services: {
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly serverUrl: () => string;
  readonly signedUrlLifetimeMs: number;
}): FileLinks {
  const { clock, serverUrl, signedUrlLifetimeMs } = services;
  const signer = createSigner(services.secrets, "signed url");
  const signedText = (...parts: readonly (string | number)[]) => JSON.stringify(parts);
  return {
    urlOf(applicationId, path) {
      const expires = Math.floor(clock.now() / stepMs) * stepMs + stepMs + signedUrlLifetimeMs;
      const signature = signer.sign(signedText(applicationId, path, expires));
      return `${serverUrl()}${path}?application=${applicationId}&expires=${expires}&signature=${signature}`;
    },
    open({ application, expires, signature }, path) {
      const isComplete =
        typeof application === "string" && typeof signature === "string" && /^\d{1,15}$/.test(String(expires));
      if (!isComplete || Number(expires) <= clock.now()) throw new ApiError("AuthSignatureInvalid");
      if (!signer.isSigned(signedText(application, path, Number(expires)), signature))
        throw new ApiError("AuthSignatureInvalid");
      return application;
    },
  };
}
