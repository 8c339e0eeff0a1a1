import { createHmac, timingSafeEqual } from "node:crypto";
import { ApiError } from "../errors.ts";
import type { ApplicationPolicy } from "./policy.ts";

/** A request, as far as it is signed (surface.md section 13). */
export interface SignedRequest {
  readonly method: string;
  readonly applicationId: string;
  /** Without the query, as it was sent. */
  readonly path: string;
}

/** What a registration is answered with by an application with a shared secret. */
export function signRegistration(secret: string, applicationKey: string): string {
  return hmac(secret, `${applicationKey}\n`).toString("hex");
}

/** The word behind the token of an Authorization header. @returns undefined when there is none */
export function readSignature(header: string | undefined): string | undefined {
  return header?.trim().split(/ +/, 4)[2];
}

/**
 * Judges the second word behind a token: hex HMAC-SHA256(secret, METHOD + "\n" + appid + "\n" + path), the path as sent or
 * percent-decoded. An application without a shared secret looks at none.
 *
 * @throws ApiError AuthSignatureInvalid
 */
export function requireSignature(
  signing: ApplicationPolicy["signing"],
  signature: string | undefined,
  request: SignedRequest,
): void {
  if (signing === undefined || (signature === undefined && !signing.isRequired)) return;
  const given = Buffer.from(signature ?? "", "hex");
  const isRight =
    signing.secret !== "" &&
    formsOf(request.path).some((path) => {
      const right = hmac(signing.secret, `${request.method}\n${request.applicationId}\n${path}`);
      return given.length === right.length && timingSafeEqual(given, right);
    });
  if (!isRight || signature?.length !== hexDigits)
    throw new ApiError("AuthSignatureInvalid", "The signature is missing or wrong.");
}

const hexDigits = 64;

function formsOf(path: string): string[] {
  if (!path.includes("%")) return [path];
  try {
    return [path, decodeURIComponent(path)];
  } catch {
    return [path];
  }
}

function hmac(secret: string, text: string): Buffer {
  return createHmac("sha256", secret).update(text, "utf8").digest();
}
