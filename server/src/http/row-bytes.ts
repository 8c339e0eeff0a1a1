/** The estimate before the first observation. */
const unknownBytes = 2_048;
const leastBytes = 256;
/**
 * The estimate grows immediately and shrinks slowly: one that is too low fills the memory, one that is too high only
 * causes waiting.
 */
const forgetting = 1 / 16;
const applicationsMax = 1_000;

/**
 * Estimates the bytes of a row in replies, per application and kind of reply, because applications have rows of
 * different sizes.
 */
export interface RowBytes {
  estimate(application: string, kind: string): number;
  note(application: string, kind: string, bytesPerRow: number): void;
}

export function createRowBytes(): RowBytes {
  const byApplication = new Map<string, Map<string, number>>();

  return {
    estimate: (application, kind) => byApplication.get(application)?.get(kind) ?? unknownBytes,

    note(application, kind, bytesPerRow) {
      let kinds = byApplication.get(application);
      if (kinds === undefined) {
        const [oldest] = byApplication.keys();
        if (byApplication.size >= applicationsMax && oldest !== undefined) byApplication.delete(oldest);
        kinds = new Map();
        byApplication.set(application, kinds);
      }
      const before = kinds.get(kind) ?? 0;
      kinds.set(kind, Math.max(leastBytes, bytesPerRow, before + (bytesPerRow - before) * forgetting));
    },
  };
}
