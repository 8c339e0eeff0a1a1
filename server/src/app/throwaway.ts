import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { onStop } from "../lib/stop-signals.ts";

/** The printed record of a throwaway server. The testing kit parses it as JSON. */
export interface ThrowawayRecord {
  readonly url: string;
  readonly appid: string;
  readonly appkey: string;
  readonly operator: { readonly name: string; readonly password: string };
  readonly dataDir: string;
}

/** A server that deletes its data on exit. */
export interface Throwaway {
  /** Prints the record. @param created undefined if the server resumes a folder */
  announce(url: string, created: Pick<ThrowawayRecord, "appid" | "appkey" | "operator"> | undefined): void;
  /** Calls back when the parent program with an IPC channel exits or disconnects. */
  onAbandoned(stop: () => void): void;
}

/** Deletes the data folder on exit. A resumed folder is deleted only after the server has started to listen. */
export function beginThrowaway(
  { dataDir }: Config,
  { isJson, isResumed }: { readonly isJson: boolean; readonly isResumed: boolean },
): Throwaway {
  const removeAtExit = () =>
    void process.once("exit", () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 }));
  if (!isResumed) removeAtExit();
  onStop(() => process.exit(0)); // without a listener, a signal would stop the process without deleting the folder
  return {
    announce(url, created) {
      if (isResumed) removeAtExit(); // not earlier, so that a failed attempt can be repeated
      const record = created === undefined ? readThrowawayRecord(dataDir) : recordOf(url, created, dataDir);
      if (created !== undefined) writeFileSync(recordFile(dataDir), JSON.stringify(record), { mode: 0o600 });
      process.stdout.write(isJson ? `${JSON.stringify(record)}\n` : describe(record));
    },
    onAbandoned(stop) {
      if (process.connected === undefined) return;
      process.once("disconnect", stop);
      if (!process.connected) stop();
    },
  };
}

function recordOf(
  url: string,
  { appid, appkey, operator }: Pick<ThrowawayRecord, "appid" | "appkey" | "operator">,
  dataDir: string,
): ThrowawayRecord {
  return { url, appid, appkey, operator, dataDir };
}

/** Reads the record of a killed throwaway server. @throws Error if the folder has none */
export function readThrowawayRecord(dataDir: string): ThrowawayRecord {
  return JSON.parse(readFileSync(recordFile(dataDir), "utf8")); // `announce` has written it
}

function recordFile(dataDir: string): string {
  return join(dataDir, "throwaway.json");
}

function describe({ url, appid, appkey, operator, dataDir }: ThrowawayRecord): string {
  return `
A throwaway server is ready. It deletes its data when it ends:

  url       ${url}
  appid     ${appid}
  appkey    ${appkey}
  operator  ${operator.name}
  password  ${operator.password}
  data      ${dataDir}

`;
}
