import type { Clock } from "../lib/clock.ts";
import { LruMap } from "../lib/lru-map.ts";

/** The SMTP servers in use: limits the concurrent mails of each, and backs off from failing ones. */
export interface MailServers {
  /** Waits for a slot of the server. @returns the function that releases the slot */
  acquire(smtpUrl: string | undefined): Promise<() => void>;
  /** True while a server is backing off after several failures in a row. */
  isBackingOff(smtpUrl: string | undefined): boolean;
  noteSuccess(smtpUrl: string | undefined): void;
  noteFailure(smtpUrl: string | undefined): void;
}

const mailsAtOnceMax = 16;
const failuresMax = 5;
const backoffMsFirst = 10_000;
const backoffMsMax = 300_000;
const serversMax = 10_000;

interface Slots {
  taken: number;
  readonly waiting: (() => void)[];
}

interface Failures {
  inARow: number;
  backoffMs: number;
  backsOffUntil: number;
}

export function createMailServers(clock: Clock): MailServers {
  /** By host and port, for servers in use, because applications may share a server. */
  const slots = new Map<string, Slots>();
  /** By the whole URL, so that one application's wrong credentials do not affect another one. */
  const failures = new LruMap<string, Failures>(serversMax);

  return {
    async acquire(smtpUrl) {
      const key = hostOf(smtpUrl);
      const server = slots.get(key) ?? { taken: 0, waiting: [] };
      slots.set(key, server);
      if (server.taken < mailsAtOnceMax) server.taken += 1;
      else await new Promise<void>((resolve) => server.waiting.push(resolve)); // the releasing mail hands its slot over
      return () => {
        const next = server.waiting.shift();
        if (next !== undefined) return next();
        server.taken -= 1;
        if (server.taken === 0) slots.delete(key);
      };
    },
    isBackingOff: (smtpUrl) => (failures.get(smtpUrl ?? "")?.backsOffUntil ?? 0) > clock.now(),
    noteSuccess: (smtpUrl) => void failures.delete(smtpUrl ?? ""),
    noteFailure(smtpUrl) {
      const found = failures.get(smtpUrl ?? "") ?? { inARow: 0, backoffMs: backoffMsFirst / 2, backsOffUntil: 0 };
      const now = clock.now();
      // Attempts that began before the pause do not extend it.
      if (found.backsOffUntil > now) return;
      found.inARow += 1;
      if (found.inARow >= failuresMax) {
        found.backoffMs = Math.min(found.backoffMs * 2, backoffMsMax);
        found.backsOffUntil = now + found.backoffMs;
      }
      failures.set(smtpUrl ?? "", found);
    },
  };
}

function hostOf(smtpUrl: string | undefined): string {
  if (smtpUrl === undefined) return "";
  const { protocol, hostname, port } = new URL(smtpUrl);
  return `${hostname.toLowerCase()}:${port || (protocol === "smtps:" ? "465" : "587")}`;
}
