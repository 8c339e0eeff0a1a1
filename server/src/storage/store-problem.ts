import type { Config } from "../config/config.ts";
import { fieldsOf } from "../lib/fields.ts";
import type { ByteStore } from "./byte-store.ts";

/** The reason why files can be neither stored nor read. */
export interface StoreProblem {
  /** Names the setting, the target and the cause. */
  readonly text: string;
  /** Set if the store refuses every request until an operator acts: the cause without names and addresses. */
  readonly refusal?: string;
}

/** Checks the store with a request. */
export async function findStoreProblem(
  { filesUrl }: Pick<Config, "filesUrl">,
  store: Pick<ByteStore, "check">,
): Promise<StoreProblem | undefined> {
  try {
    await store.check();
    return undefined;
  } catch (error) {
    return describeProblem(new URL(filesUrl), error);
  }
}

const refusals: Readonly<Record<string, string>> = {
  NoSuchBucket: "does not exist",
  AccessDenied: "does not let this key list objects",
  InvalidAccessKeyId: "does not know AWS_ACCESS_KEY_ID",
  SignatureDoesNotMatch: "was asked with a wrong AWS_SECRET_ACCESS_KEY",
  PermanentRedirect: "lives in another region than the FILES_URL says",
  AuthorizationHeaderMalformed: "lives in another region than the FILES_URL says",
};

interface Details {
  readonly code?: unknown;
  readonly name?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function describeProblem(url: URL, error: unknown): StoreProblem {
  if (url.protocol === "file:") {
    const { code } = fieldsOf(error);
    return { text: `FILES_URL: ${decodeURIComponent(url.pathname)} cannot be used (${code}).` };
  }
  const endpoint = url.searchParams.get("endpoint") ?? `Amazon S3 (${url.searchParams.get("region") ?? "us-east-1"})`;
  const bucket = `the bucket "${url.hostname}" at ${endpoint}`;
  // Identified by its shape, because loading the S3 library takes long where no bucket is used.
  const { code, name, $metadata: answer } = Object(error) as Details;
  const refusal = refusals[String(name)];
  if (refusal !== undefined) {
    const about = (what: string) => `FILES_URL: ${what} ${refusal} (${name}).`;
    return { text: about(bucket), refusal: about("the bucket") };
  }
  if (answer?.httpStatusCode !== undefined)
    return { text: `FILES_URL: ${bucket} answers ${answer.httpStatusCode} (${name}).` };
  return { text: `FILES_URL: ${bucket} cannot be reached (${code ?? name}).` };
}
