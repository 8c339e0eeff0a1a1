import { isIP } from "node:net";
import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config } from "./config.ts";

type Settings = Pick<Config, "host" | "port" | "metricsHost" | "metricsPort" | "dataDir" | "databaseUrl" | "filesUrl">;

/** The fields that drivers and the operating system add to errors. */
interface Details {
  readonly code?: unknown;
  readonly errcode?: unknown;
  readonly syscall?: unknown;
  readonly path?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly hostname?: unknown;
  readonly severity?: unknown;
}

/**
 * Explains a failure that a setting causes: the setting, the target, the cause and the remedy. Returns undefined for
 * other failures. Never contains a password: of a URL, it shows only the host, the port and the names of user and
 * database.
 */
export function explainSetting(error: unknown, config: Settings): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const details = error as Error & Details; // every field may be missing
  if (details.syscall === "listen" || details.syscall === "bind" || isOfHost(details, config))
    return explainListening(details, config);
  if (config.databaseUrl.startsWith("file:")) {
    const problem = explainSqlite(details, fileURLToPath(config.databaseUrl));
    if (problem !== undefined) return problem;
  } else {
    const problem = explainPostgres(details, new URL(config.databaseUrl));
    if (problem !== undefined) return problem;
  }
  return typeof details.path === "string" ? explainPath(details, details.path, config) : undefined;
}

/** Whether the host name to listen on could not be resolved. */
function isOfHost({ syscall, hostname }: Details, { host, metricsHost }: Settings): boolean {
  return syscall === "getaddrinfo" && (hostname === host || hostname === metricsHost);
}

function explainListening({ code, port }: Details, config: Settings): string {
  const isOfMetrics = config.metricsPort !== undefined && port === config.metricsPort && port !== config.port;
  const [hostName, portName] = isOfMetrics ? ["METRICS_HOST", "METRICS_PORT"] : ["HOST", "PORT"];
  const host = isOfMetrics ? config.metricsHost : config.host;
  const wanted = isOfMetrics ? config.metricsPort : config.port;
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${wanted}`;
  if (code === "EADDRINUSE")
    return `${portName}: ${target} is in use (EADDRINUSE). Stop the other program, or set another ${portName}.`;
  if (code === "EACCES")
    return `${portName}: this user may not listen on ${target} (EACCES). Set ${portName} to 1024 or above, or grant the permission.`;
  if (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT")
    return `${hostName}: ${host} is not an address of this machine (${code}). Use 0.0.0.0 to listen on all addresses.`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `${hostName}: the name ${host} cannot be resolved (${code}). Correct it, or check DNS.`;
  return `${hostName}, ${portName}: cannot listen on ${target} (${code}).`;
}

const sqliteProblems: Readonly<Record<number, string>> = {
  5: "is locked by another program (SQLITE_BUSY)",
  8: "cannot be written (SQLITE_READONLY). The file and its folder must belong to this user",
  10: "cannot be read or written (SQLITE_IOERR). Check the disk",
  11: "is damaged (SQLITE_CORRUPT). Restore a backup",
  13: "cannot be written: the disk is full (SQLITE_FULL)",
  14: "cannot be opened (SQLITE_CANTOPEN). The file and its folder must belong to this user",
  26: "is not an SQLite database (SQLITE_NOTADB)",
};

function explainSqlite({ code, errcode }: Details, file: string): string | undefined {
  if (code !== "ERR_SQLITE_ERROR" || typeof errcode !== "number") return undefined;
  const problem = sqliteProblems[errcode & 0xff];
  return problem && `DATABASE_URL: ${file} ${problem}.`;
}

const certificateCode = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/;

function explainPostgres(error: Error & Details, url: URL): string | undefined {
  const { code, severity, message } = error;
  const port = url.port === "" ? 5432 : Number(url.port);
  const folder = url.searchParams.get("host");
  const socket = folder === null ? undefined : `${folder}/.s.PGSQL.${port}`;
  const target = socket ?? `${url.hostname || "localhost"}:${port}`;
  const user = decodeURIComponent(url.username);
  const about = (text: string) => `DATABASE_URL: ${text}`;
  if (typeof code !== "string") return undefined;
  if (/unsupported startup parameter/.test(message))
    return about(
      `${target} is a pooler (${message}). Set DATABASE_POOLER=transaction, or use PostgreSQL's own address.`,
    );
  if (severity !== undefined) {
    if (code === "3D000") return about(`${message} on ${target}. Create it, or correct the name.`);
    if (code === "28P01") return about(`${target} refuses the password of the user "${user}".`);
    if (code === "28000") return about(`${target} refuses the user "${user}": ${message}.`);
    if (code === "42501") return about(`the user "${user}" lacks a privilege on ${target}: ${message}.`);
    if (code === "53300") return about(`${target} accepts no further connections: ${message}.`);
    if (severity === "FATAL") return about(`${target} refuses the connection: ${message} (${code}).`);
    return undefined;
  }
  if (certificateCode.test(code))
    return about(`the certificate of ${target} is not trusted (${code}). Add its authority to NODE_EXTRA_CA_CERTS.`);
  if (code === "ECONNRESET" && /secure TLS/.test(message))
    return about(`${target} does not accept TLS connections, which sslmode requires (${code}).`);
  if (code === "CONNECTION_CLOSED" || code === "CONNECT_TIMEOUT")
    return about(`no answer from ${target} (${code}). Does a firewall block the connection?`);
  const isThere =
    (socket !== undefined && error.address === socket) || error.port === port || error.hostname === url.hostname;
  if (!isThere) return undefined;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return about(`the host name ${url.hostname} cannot be resolved (${code}). Correct it, or check DNS.`);
  if (code === "ECONNREFUSED" || (socket !== undefined && code === "ENOENT"))
    return about(`cannot connect to ${target} (${code}). Is PostgreSQL running there?`);
  return about(`cannot connect to ${target} (${code}).`);
}

/** Explanations of file system errors, by code. */
export const pathProblems: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would exceed the size limit of this process",
  ENOTDIR: "a part of the path is a file",
  EEXIST: "it is a file, and must be a folder",
  EISDIR: "it is a folder, and must be a file",
  ENOENT: "the folder cannot be created",
  ENAMETOOLONG: "the path is too long",
  ELOOP: "its symbolic links form a loop",
};

/**
 * Explains an error whose path is within the folder of a setting, or is its parent folder and could not be created.
 */
function explainPath({ code, syscall }: Details, path: string, config: Settings): string | undefined {
  if (code === "ENOENT" && syscall === "open") return undefined; // a file of the command line, because folders of settings exist
  const settingPaths: [setting: string, path: string][] = [["DATA_DIR", config.dataDir]];
  if (config.databaseUrl.startsWith("file:"))
    settingPaths.push(["DATABASE_URL", dirname(fileURLToPath(config.databaseUrl))]);
  if (config.filesUrl.startsWith("file:")) settingPaths.push(["FILES_URL", fileURLToPath(config.filesUrl)]);
  const found =
    settingPaths.find(([, settingPath]) => isWithin(path, settingPath)) ??
    settingPaths.find(([, settingPath]) => isWithin(settingPath, path));
  if (found === undefined) return undefined;
  return `${found[0]}: cannot use ${path}: ${pathProblems[String(code)] ?? "it cannot be used"} (${code}).`;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
