import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ByteStore } from "./byte-store.ts";
import { openFolderStore } from "./folder-store.ts";

/** Opens the folder that a `file:…` URL names, and makes it if need be. */
export async function openByteStore(url: string): Promise<ByteStore> {
  return openFolderStore(resolve(fileURLToPath(url)));
}
