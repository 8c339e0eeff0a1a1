import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "../config/config.ts";
import { runAsPart } from "../lib/current-call.ts";
import type { ByteStore } from "./byte-store.ts";

type StoreConfig = Pick<Config, "filesUrl" | "filesDownload" | "awsAccessKeyId" | "awsSecretAccessKey">;

/** Opens the store of FILES_URL, and loads only that driver. Creates a folder if necessary; a bucket must exist. */
export async function openByteStore(config: StoreConfig): Promise<ByteStore> {
  const url = new URL(config.filesUrl);
  if (url.protocol === "file:") {
    const { openFolderStore } = await import("./folder-store.ts");
    return openFolderStore(resolve(fileURLToPath(url)));
  }
  const { openS3Store } = await import("./s3-store.ts");
  const prefix = url.searchParams.get("prefix") ?? "";
  const options = {
    bucket: url.hostname,
    endpoint: url.searchParams.get("endpoint") ?? undefined,
    region: url.searchParams.get("region") ?? "us-east-1",
    prefix: prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`,
    accessKeyId: config.awsAccessKeyId ?? "",
    secretAccessKey: config.awsSecretAccessKey ?? "",
  };
  const store = openS3Store(options);
  if (config.filesDownload !== "redirect") return store;
  const { createPresigner } = await import("./s3-presigner.ts");
  return { ...store, presign: createPresigner(options) };
}

/** Wraps a store so that its calls appear in the trace of a request. */
export function traceStore(store: ByteStore): ByteStore {
  return {
    ...store,
    write: (key, bytes, options) => runAsPart("write bytes", () => store.write(key, bytes, options)),
    read: (key, range) => runAsPart("open bytes", () => store.read(key, range)),
    size: (key) => runAsPart("size of bytes", () => store.size(key)),
    deleteAll: (prefix, signal) => runAsPart("delete bytes", () => store.deleteAll(prefix, signal)),
  };
}
