import { createHmac, timingSafeEqual } from "node:crypto";
import type { ApplicationPolicy } from "../contract/policy.ts";
import { ApiError } from "../lib/errors.ts";

/** The signed properties of a request (spec/authentication#signatures). */
export interface SignedRequest {
  readonly method: string;
  readonly applicationId: string;
  /** As sent, without the query. */
  readonly path: string;
}

/** Signs a registration, for an application with a shared secret. */
export function signRegistration(secret: string, applicationKey: string): string {
  return hmac(secret, `${applicationKey}\n`).toString("hex");
}

/** Returns the signature after the token in an Authorization header, or undefined without one. */
export function readSignature(header: string | undefined): string | undefined {
  return header?.trim().split(/ +/, 4)[2];
}

/**
 * Checks the signature of a request: hex HMAC-SHA256(secret, METHOD + "\n" + appid + "\n" + path), with the path as
 * sent or percent-decoded. For applications without a shared secret, the signature is ignored.
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
