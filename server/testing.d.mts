/** A server of its own process, on SQLite in a temporary folder and on a free port of this machine. */
export interface ThrowawayServer {
  readonly url: string;
  /** The credentials of its only application, which is named Test. */
  readonly appid: string;
  readonly appkey: string;
  /** An operator with the role owner. */
  readonly operator: { readonly name: string; readonly password: string };
  /** The folder with all its data: `rollcall.db`, `files` and `mail`. */
  readonly dataDir: string;
  /** Ends the process without notice (SIGKILL), and keeps its folder. */
  kill(): Promise<void>;
  /** Kills the process if it runs, and serves the same folder again at the same URL. */
  restart(): Promise<void>;
  /** Ends the process and deletes its folder. */
  stop(): Promise<void>;
}

export interface ThrowawayOptions {
  /** Settings of the application, as `PATCH /_/api/applications/{appid}/settings` takes them. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Settings of the server; with PATH, HOME and TMPDIR its whole environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each line of the server's log, as JSON. */
  readonly onLogLine?: (line: string) => void;
}

/**
 * Starts a server and resolves once it listens. It ends with this process at the latest, and does not keep it running.
 *
 * @throws Error with what the server says when it does not start, or refuses the settings
 */
export function startThrowaway(options?: ThrowawayOptions): Promise<ThrowawayServer>;
