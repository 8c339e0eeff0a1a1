interface Run<T> {
  readonly current: Promise<T>;
  next?: Promise<T>;
}

/**
 * Lets calls with the same key share work. All calls that arrive while the work runs share one further run, so that
 * each call gets the result of a run that began after it.
 *
 * @returns a function that starts `work`, or waits for the further run, which starts the `work` of its first call
 */
export function createSharedRuns<T>(): (key: string, work: () => Promise<T>) => Promise<T> {
  const runs = new Map<string, Run<T>>();

  function start(key: string, work: () => Promise<T>): Promise<T> {
    const run: Run<T> = {
      current: work().finally(() => {
        if (runs.get(key) === run) runs.delete(key);
      }),
    };
    runs.set(key, run);
    return run.current;
  }

  return (key, work) => {
    const run = runs.get(key);
    if (run === undefined) return start(key, work);
    run.next ??= run.current.then(ignore, ignore).then(() => start(key, work));
    return run.next;
  };
}

function ignore(): void {}
