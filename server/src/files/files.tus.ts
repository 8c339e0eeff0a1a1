import type { Locker, ServerOptions } from "@tus/server";
import type { Endpoint, EndpointCall, EndpointReply } from "../contract/endpoint.ts";
import { ApiError } from "../lib/errors.ts";
import { kindOfId } from "../lib/ids.ts";
import type { Services } from "../operations/services.ts";
import { fileKinds } from "./files.kinds.ts";
import { checksumAlgorithms, readChecksum } from "./files.resumable.checksum.ts";
import {
  createUpload,
  findUploadState,
  receiveBytes,
  removeUpload,
  settleUpload,
  type UploadState,
} from "./files.resumable.ts";
import { bytesType, tusOperations, tusPath, tusVersion } from "./files.tus.operations.ts";

interface Holder {
  readonly stop: () => void;
  readonly isReleased: Promise<void>;
}

const waitingMsMax = 5_000;

/**
 * Allows one writing request per upload within this process. A later request stops the earlier one, whose arrived bytes
 * count: usually its connection is dead and the client has reconnected.
 */
interface UploadLocks {
  /**
   * @returns a function that releases the upload
   * @throws ApiError ServiceUnavailable when the earlier request does not stop in time
   */
  take(key: string, stop: () => void): Promise<() => void>;
}

function createUploadLocks(): UploadLocks {
  const holders = new Map<string, Holder>();
  return {
    async take(key, stop) {
      const deadline = performance.now() + waitingMsMax;
      for (let holder = holders.get(key); holder !== undefined; holder = holders.get(key)) {
        holder.stop();
        if (!(await isReleasedBy(deadline, holder))) {
          throw new ApiError("ServiceUnavailable", "The upload is busy with an earlier request.");
        }
      }
      const { promise: isReleased, resolve } = Promise.withResolvers<void>();
      holders.set(key, { stop, isReleased });
      return () => {
        holders.delete(key);
        resolve();
      };
    },
  };
}

async function isReleasedBy(deadline: number, { isReleased }: Holder): Promise<boolean> {
  const { promise: isLate, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, deadline - performance.now());
  const isInTime = await Promise.race([isReleased.then(() => true), isLate.then(() => false)]);
  clearTimeout(timer);
  return isInTime;
}

const extensions = ["creation", "creation-with-upload", "expiration", "checksum", "termination"];

/**
 * Resumable uploads (spec/uploads) with the tus protocol of `@tus/server`. The package receives only the headers; the
 * body goes from the request to the store. docs/contributing/decisions/0010-tus-protocol.md
 */
export function tusEndpoint(services: Services): Endpoint {
  const locks = createUploadLocks();
  return {
    tag: "Uploads",
    operations: tusOperations,
    headers: { "Tus-Resumable": tusVersion, "Tus-Version": tusVersion },
    options: {
      "Tus-Extension": extensions.join(","),
      "Tus-Max-Size": String(services.config.fileBytesMax),
      "Tus-Checksum-Algorithm": checksumAlgorithms,
    },
    async answer(call) {
      checkHeaders(call);
      return handleByPackage(call, locks, services);
    },
  };
}

/** Header checks that the package omits, or implements differently from the protocol. @throws ApiError */
function checkHeaders({ headers, contentType, operation: { method } }: EndpointCall): void {
  if (headers["tus-resumable"] !== tusVersion) throw new ApiError("UploadVersionUnsupported");
  if (method === "PATCH") {
    if (!isBytes(contentType)) throw new ApiError("UploadContentTypeWrong");
    requireHeader("Upload-Offset", headers["upload-offset"]);
  }
  if (method === "POST") {
    requireHeader("Upload-Length", headers["upload-length"]);
    for (const name of ["Upload-Defer-Length", "Upload-Concat"]) {
      if (headers[name.toLowerCase()] !== undefined) {
        throw new ApiError("ParameterOutOfRange", `${name} is not supported.`, { parameter: name });
      }
    }
  }
}

function requireHeader(name: string, value: unknown): void {
  if (value === undefined)
    throw new ApiError("ParameterMissingRequiredValue", `${name} is required.`, { parameter: name });
}

function isBytes(contentType: string | undefined): boolean {
  return contentType?.trim().toLowerCase() === bytesType;
}

/** Handles one request with a package server whose store is this upload. */
async function handleByPackage(call: EndpointCall, locks: UploadLocks, services: Services): Promise<EndpointReply> {
  // Loaded on demand, because few deployments need it.
  const { DataStore, Server, Upload } = await import("@tus/server");
  const { caller, operation, headers, path, body } = call;
  const { applicationId } = caller;
  const { method } = operation;
  const checksum =
    typeof headers["upload-checksum"] === "string" ? readChecksum(headers["upload-checksum"]) : undefined;
  const metadata = headers["upload-metadata"];
  let id = path["uploadId"] ?? "";
  let state: UploadState | undefined;
  let failure: unknown;

  const present = ({ length, received, createdAt }: UploadState) =>
    new Upload({ id, size: length, offset: received, creation_date: new Date(createdAt).toISOString() });

  const store = Object.assign(new DataStore(), {
    extensions,
    getExpiration: () => services.config.uploadLifetimeMs,
    async create(upload: InstanceType<typeof Upload>) {
      state = await createUpload(caller, upload.size ?? 0, typeof metadata === "string" ? metadata : "", services);
      id = state.id;
      return Object.assign(upload, present(state));
    },
    async getUpload() {
      // A creation reports its upload, even if a concurrent request removed it.
      if (method === "POST" && state !== undefined) return present(state);
      state = await settleUpload(caller, id, services);
      return present(state);
    },
    async write(nothing: NodeJS.ReadableStream) {
      nothing.resume();
      const isNew = method === "POST";
      if (state?.row === undefined) return state?.received ?? 0;
      try {
        state = await receiveBytes(state.row, body, checksum, services);
      } catch (error) {
        if (isNew) await removeUpload(caller, id, services).catch(() => {}); // the client never received its URL
        throw isNew && isGone(error) ? new ApiError("AuthAccessTokenInvalid") : error;
      }
      if (isNew && !body.isConnected() && state.row !== undefined) await removeUpload(caller, id, services);
      return state.received;
    },
    remove: () => removeUpload(caller, id, services),
  });

  const options: ServerOptions & { datastore: typeof store } = {
    path: tusPath,
    datastore: store,
    locker: method === "POST" ? unlocked : lockerOf(locks, () => `${applicationId}/${id}`, body.stop),
    namingFunction: () => "new", // the row determines the id
    getFileIdFromRequest: () => id,
    generateUrl: () => `${services.serverUrl()}${tusPath}/${id}`,
    async onIncomingRequest() {
      if (method === "POST") return;
      // Must fail before this request stops another one.
      if (kindOfId(id) === undefined) throw new ApiError("ItemDoesNotExist");
      await findUploadState(caller, id, services);
    },
    onResponseError(_request, error) {
      failure = error;
      return undefined;
    },
  };
  const request = new Request(`http://upload${tusPath}/${encodeURIComponent(id)}`, {
    method,
    headers: requestHeaders(call),
  });
  const response = await new Server(options).handleWeb(request);
  if (response.status >= 400) throw await refusalOf(response, failure);
  return { status: response.status, headers: replyHeaders(response.headers, state) };
}

/** An upload that no client has the URL of disappears only with its user. */
function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.condition === "ItemDoesNotExist";
}

/** The headers that the package checks. */
function requestHeaders({ headers, contentType, operation: { method } }: EndpointCall): Record<string, string> {
  const forwarded: Record<string, string> = { "tus-resumable": tusVersion };
  const names = { POST: "upload-length", PATCH: "upload-offset", HEAD: undefined, DELETE: undefined };
  const name = names[method];
  for (const each of [name, "content-length"]) {
    const value = each === undefined ? undefined : headers[each];
    if (each !== undefined && typeof value === "string") forwarded[each] = value;
  }
  if (isBytes(contentType)) forwarded["content-type"] = bytesType;
  return forwarded;
}

/** Copies the protocol headers of the response; URLs and CORS headers are set here. */
function replyHeaders(answered: Headers, state: UploadState | undefined): Record<string, string> {
  const copied = ["Location", "Upload-Offset", "Upload-Length", "Upload-Expires", "Cache-Control"].flatMap((name) => {
    const value = answered.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const { row } = state ?? {};
  return {
    ...Object.fromEntries(copied),
    ...(answered.has("Upload-Length") && row !== undefined && describeUnfinished(row)),
    ...(state !== undefined && row === undefined && { "Content-Location": filePath(state.id) }),
  };
}

function describeUnfinished({ metadata, expires_at }: NonNullable<UploadState["row"]>): Record<string, string> {
  return { "Upload-Metadata": metadata, "Upload-Expires": new Date(expires_at).toUTCString() };
}

function filePath(id: string): string {
  const kind = fileKinds.find(({ idKind }) => idKind === kindOfId(id));
  return `/${kind?.collection}/${id}`;
}

/** Translates an error response of the package into a row of the error catalogue. */
async function refusalOf(response: Response, failure: unknown): Promise<unknown> {
  const { status } = response;
  if (failure instanceof Error || (status >= 500 && failure !== undefined)) return failure;
  const message = `${(await response.text()).trim()}.`;
  if (status === 404 || status === 410) return new ApiError("ItemDoesNotExist");
  if (status === 409) return new ApiError("UploadOffsetConflict");
  if (status === 413) return new ApiError("RequestTooLarge", "The upload would exceed its declared length.");
  return new ApiError("ParameterIncorrectFormat", message);
}

/** An upload that is being created needs no lock: no other client has its URL. */
const unlocked: Locker = { newLock: () => ({ lock: async () => {}, unlock: async () => {} }) };

/** Replaces the package's locker, which cannot stop the bodies of other requests. */
function lockerOf(locks: UploadLocks, key: () => string, stop: () => void): Locker {
  let end = () => {};
  return {
    newLock: () => ({
      async lock() {
        end = await locks.take(key(), stop);
      },
      async unlock() {
        end();
      },
    }),
  };
}
