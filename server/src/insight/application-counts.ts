/** Requests by the class of their status: of 1xx and 2xx, 3xx, 4xx and 5xx. */
type ByClass = [succeeded: number, redirected: number, refused: number, failed: number];

export const statusClasses = ["2xx", "3xx", "4xx", "5xx"] as const;

/** Counts the requests of each application, and tells of a bounded number of them. */
export interface ApplicationCounts {
  count(applicationId: string, status: number): void;
  /**
   * The busiest by their ids, and `other` for all the rest. What is told of never becomes less, except that one that has
   * not been busy for long makes room: its requests are among the others from then on.
   */
  tell(): ReadonlyMap<string, Readonly<ByClass>>;
}

/** Those that wait to be told of are counted too, so that it shows who is busy; some 200 bytes each. */
const countedPerTold = 10;
/** Who takes another's place is so much busier, lest two take turns. */
const busierBy = 2;

interface Counted {
  readonly total: ByClass;
  /** What of it has been told of, under its own name or among the others. */
  readonly told: ByClass;
  isNamed: boolean;
  /** Requests between two tellings, of older ones ever less. */
  activity: number;
}

/** @param namedMax of how many applications is told, beside the others */
export function createApplicationCounts(namedMax: number): ApplicationCounts {
  const counted = new Map<string, Counted>();
  const named = new Map<string, ByClass>();
  /** Of applications that are not told of by name, and of those for which there was no room. */
  const others: ByClass = [0, 0, 0, 0];

  function find(applicationId: string): Counted | undefined {
    const found = counted.get(applicationId);
    if (found !== undefined || counted.size >= namedMax * countedPerTold) return found;
    const made: Counted = { total: [0, 0, 0, 0], told: [0, 0, 0, 0], isNamed: false, activity: 0 };
    counted.set(applicationId, made);
    return made;
  }

  /** Moves what is new to where it is told. */
  function settle(applicationId: string, each: Counted): void {
    const target = each.isNamed ? (named.get(applicationId) ?? others) : others;
    for (const [index, total] of each.total.entries()) {
      target[index] = (target[index] ?? 0) + total - (each.told[index] ?? 0);
      each.told[index] = total;
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
    tell() {
      for (const each of counted.values()) each.activity = each.activity / 2 + sum(each.total) - sum(each.told);
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
