import type { ServerProcess } from "../api/admin.ts";
import { formatMs, formatNumber, showInvisible } from "../lib/format.ts";
import { Time } from "../ui/time.tsx";
import styles from "./deployment.module.css";

/** The background jobs of all processes: a row for each, with its last successful and its last failed run anywhere. */
export function Jobs({ processes }: { readonly processes: readonly ServerProcess[] }) {
  const runs = processes.flatMap((process) => process.jobs.map((job) => ({ process, job })));
  return (
    <section className={styles.part}>
      <h2>Background jobs</h2>
      <table className={styles.table}>
        <thead>
          <tr>
            {["Job", "Last run", "Duration", "Failures", "Last failure"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...Map.groupBy(runs, ({ job }) => job.name)].map(([name, ofJob]) => (
            <JobRow key={name} name={name} runs={ofJob} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface Run {
  readonly process: ServerProcess;
  readonly job: ServerProcess["jobs"][number];
}

function JobRow({ name, runs }: { readonly name: string; readonly runs: readonly Run[] }) {
  const { finished, durationMs } = latest(runs, "finished")?.job ?? {};
  const { job: { failed } = {}, process } = latest(runs, "failed") ?? {};
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-name="Last run">{finished !== undefined && <Time value={finished} />}</td>
      <td data-name="Duration">{durationMs !== undefined && formatMs(durationMs)}</td>
      <td data-name="Failures">{formatNumber(runs.reduce((sum, { job }) => sum + job.failures, 0))}</td>
      <td data-name="Last failure">
        {failed !== undefined && (
          <>
            <Time value={failed} /> on {showInvisible(process?.machine ?? "")}, worker {process?.worker}
          </>
        )}
      </td>
    </tr>
  );
}

function latest(runs: readonly Run[], name: "finished" | "failed"): Run | undefined {
  const timeOf = ({ job }: Run) => job[name]?.getTime() ?? 0;
  return runs.filter(({ job }) => job[name] !== undefined).sort((a, b) => timeOf(b) - timeOf(a))[0];
}
