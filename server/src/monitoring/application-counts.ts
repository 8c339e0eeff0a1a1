/** Requests by the class of their status: of 1xx and 2xx, 3xx, 4xx and 5xx. */
type ByClass = [succeeded: number, redirected: number, refused: number, failed: number];

export const statusClasses = ["2xx", "3xx", "4xx", "5xx"] as const;

/** Counts the requests of each application, and reports a bounded number of applications by name. */
export interface ApplicationCounts {
  count(applicationId: string, status: number): void;
  /**
   * Reports the busiest applications by id, and all others together as `other`. Reported counts never decrease. When an
   * application is replaced by a busier one, its further requests count as `other`.
   */
  report(): ReadonlyMap<string, Readonly<ByClass>>;
}

/** Unreported applications are counted too, to find the busy ones; some 200 bytes each. */
const countedPerReported = 10;
/** An application must be this much busier to replace another, so that two do not alternate. */
const busierBy = 2;

interface Counted {
  readonly total: ByClass;
  /** The part of `total` that was reported, by name or among the others. */
  readonly reported: ByClass;
  isNamed: boolean;
  /** Requests since the last report, plus exponentially decaying older ones. */
  activity: number;
}

/** @param namedMax how many applications are reported by name */
export function createApplicationCounts(namedMax: number): ApplicationCounts {
  const counted = new Map<string, Counted>();
  const named = new Map<string, ByClass>();
  /** Applications that are not reported by name, and applications above the memory limit. */
  const others: ByClass = [0, 0, 0, 0];

  function find(applicationId: string): Counted | undefined {
    const found = counted.get(applicationId);
    if (found !== undefined || counted.size >= namedMax * countedPerReported) return found;
    const made: Counted = { total: [0, 0, 0, 0], reported: [0, 0, 0, 0], isNamed: false, activity: 0 };
    counted.set(applicationId, made);
    return made;
  }

  /** Adds unreported requests to the count under which they are reported. */
  function settle(applicationId: string, each: Counted): void {
    const target = each.isNamed ? (named.get(applicationId) ?? others) : others;
    for (const [index, total] of each.total.entries()) {
      target[index] = (target[index] ?? 0) + total - (each.reported[index] ?? 0);
      each.reported[index] = total;
    }
  }

  function nameBusiest(): void {
    const waiting = [...counted].filter(([, each]) => !each.isNamed).sort(([, a], [, b]) => b.activity - a.activity);
    const idle = [...counted].filter(([, each]) => each.isNamed).sort(([, a], [, b]) => a.activity - b.activity);
    for (const [id, busy] of waiting) {
      if (named.size >= namedMax) {
        const [idleId, least] = idle.shift() ?? [];
        if (idleId === undefined || least === undefined || busy.activity <= least.activity * busierBy) return;
        settle(idleId, least);
        least.isNamed = false;
        named.delete(idleId);
      }
      if (busy.activity === 0) return;
      busy.isNamed = true;
      named.set(id, [0, 0, 0, 0]);
    }
  }

  return {
    count(applicationId, status) {
      const index = status < 300 ? 0 : status < 400 ? 1 : status < 500 ? 2 : 3;
      const counts = find(applicationId)?.total ?? others;
      counts[index] += 1;
    },
    report() {
      for (const each of counted.values()) each.activity = each.activity / 2 + sum(each.total) - sum(each.reported);
      nameBusiest();
      for (const [id, each] of counted) {
        settle(id, each);
        if (!each.isNamed && each.activity < 1) counted.delete(id);
      }
      return new Map([...named, ["other", others]]);
    },
  };
}

function sum(counts: ByClass): number {
  return counts.reduce((total, each) => total + each, 0);
}
