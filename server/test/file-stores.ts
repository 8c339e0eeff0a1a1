import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { startS3Server } from "./s3-server.ts";

/** A file store of one of the kinds that a deployment can configure. */
export interface FileStore {
  readonly settings: Readonly<Record<string, string>>;
  /** Lists the keys of all objects of an application, sorted. */
  listKeys(appid: string): Promise<string[]>;
  /** Lists the temporary files of unfinished writes. */
  listLeftovers(): string[];
  close(): Promise<void>;
}

async function startFolder(folder: string): Promise<Omit<FileStore, "close">> {
  return {
    settings: { FILES_URL: pathToFileURL(folder).href },
    async listKeys(appid) {
      if (!existsSync(join(folder, appid))) return [];
      const entries = readdirSync(join(folder, appid), { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      return files.map((entry) => relative(folder, join(entry.parentPath, entry.name))).sort();
    },
    listLeftovers: () => readdirSync(join(folder, ".incoming")),
  };
}

async function startS3(folder: string, FILES_DOWNLOAD: string): Promise<FileStore> {
  const { url, keys, listKeys, listUploads, close } = await startS3Server(folder);
  return {
    settings: {
      FILES_URL: `${url}&prefix=rollcall`,
      FILES_DOWNLOAD,
      AWS_ACCESS_KEY_ID: keys.awsAccessKeyId,
      AWS_SECRET_ACCESS_KEY: keys.awsSecretAccessKey,
    },
    listKeys: async (appid) =>
      (await listKeys(`rollcall/${appid}/`)).map((key) => key.slice("rollcall/".length)).sort(),
    listLeftovers: listUploads,
    close,
  };
}

/** Every kind of store by its name in test titles. */
export const fileStores: Readonly<Record<string, (folder: string) => Promise<FileStore>>> = {
  "in a folder": async (folder) => ({ ...(await startFolder(folder)), close: async () => {} }),
  "in S3": (folder) => startS3(folder, "stream"),
  "in S3, read there": (folder) => startS3(folder, "redirect"),
};

/** Starts a store in a new folder. */
export async function startFileStore(name: keyof typeof fileStores): Promise<FileStore> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-files-"));
  const start = fileStores[name];
  if (start === undefined) throw new Error(`unknown store ${name}`);
  const store = await start(folder);
  return {
    ...store,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
