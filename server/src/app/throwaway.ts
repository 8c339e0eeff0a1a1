import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { onStop } from "../lib/stop-signals.ts";

/** The record that the caller of a throwaway server receives. The testing kit parses it as JSON. */
export interface ThrowawayRecord {
  readonly url: string;
  readonly appid: string;
  readonly appkey: string;
  readonly operator: { readonly name: string; readonly password: string };
  readonly dataDir: string;
}

/** A server that leaves no data behind. */
export interface Throwaway {
  /** Prints the record. @param created undefined when the server resumes a folder */
  announce(url: string, created: Pick<ThrowawayRecord, "appid" | "appkey" | "operator"> | undefined): void;
  /** Calls back when the program that started this one with an IPC channel has ended or disconnected. */
  onAbandoned(stop: () => void): void;
}

/** Deletes the folder of the data when the process ends; before it listens, only a folder of its own. */
export function beginThrowaway(
  { dataDir }: Config,
  { isJson, isResumed }: { readonly isJson: boolean; readonly isResumed: boolean },
): Throwaway {
  const removeAtExit = () =>
    void process.once("exit", () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 }));
  if (!isResumed) removeAtExit();
  onStop(() => process.exit(0)); // without a listener, a signal would end the process and leave the folder
  return {
    announce(url, created) {
      if (isResumed) removeAtExit(); // a failed attempt must leave the folder for another one
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

/** Reads the record of a killed throwaway server. @throws Error when this is no folder of one */
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
