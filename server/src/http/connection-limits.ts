import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { addressGroup, isLoopback, unmapIpv4 } from "../lib/ip-addresses.ts";
import { noteReleased } from "./memory-relief.ts";

/** Bounds the open connections of a process, in total and by address, so that one client cannot take all of them. */
export interface ConnectionLimits {
  /** Counts the connection until it closes, or closes it at once. */
  admit(socket: Socket): void;
}

/** Files, the database and outgoing calls need the rest. */
const shareOfOpenFiles = 3 / 4;
/** Generous, because many phones may share one address. */
const shareOfAddress = 1 / 4;
/** Where the system does not report its limit. */
const openFilesDefault = 4_096;
/** The memory of a connection with its parser and a request. */
const connectionBytes = 16_384;
/** So many closed connections are worth a collection of garbage. */
const manyConnections = 2_048;
const warnEveryMs = 60_000;

export interface ConnectionLimitOptions {
  /** By default, derived from the limit of open files. */
  readonly connectionsMax: number | undefined;
  readonly connectionsPerAddressMax: number | undefined;
  /** Whether the connections from this address are those of many clients: it belongs to a trusted proxy. */
  isProxy(address: string): boolean;
  readonly log: { warn(details: object, line: string): void };
}

export function createConnectionLimits(options: ConnectionLimitOptions): ConnectionLimits {
  const max = options.connectionsMax ?? Math.max(1, Math.floor(readOpenFilesMax() * shareOfOpenFiles));
  const perAddressMax = options.connectionsPerAddressMax ?? Math.max(1, Math.floor(max * shareOfAddress));
  const byAddress = new Map<string, number>();
  let open = 0;
  /** The maximum since the last report to `noteReleased`. */
  let peak = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  function refuse(socket: Socket, address: string): void {
    socket.destroy();
    const now = performance.now();
    if (now - warnedAt < warnEveryMs) return;
    warnedAt = now;
    options.log.warn({ address, connections: open }, "too many connections: new ones are closed");
  }

  function leave(group: string): void {
    open -= 1;
    const left = (byAddress.get(group) ?? 1) - 1;
    if (left > 0) byAddress.set(group, left);
    else byAddress.delete(group);
    if (peak - open < manyConnections) return;
    noteReleased((peak - open) * connectionBytes);
    peak = open;
  }

  return {
    admit(socket) {
      const address = unmapIpv4(socket.remoteAddress ?? "");
      const group = addressGroup(address);
      const count = byAddress.get(group) ?? 0;
      const isBounded = !isLoopback(address) && !options.isProxy(address);
      if (open >= max || (isBounded && count >= perAddressMax)) {
        refuse(socket, address);
        return;
      }
      open += 1;
      peak = Math.max(peak, open);
      byAddress.set(group, count + 1);
      socket.once("close", () => leave(group));
    },
  };
}

/** The number of files and connections that the process may have open. */
function readOpenFilesMax(): number {
  if (process.platform !== "linux") return openFilesDefault;
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return soft === undefined ? openFilesDefault : Number(soft);
}
