import type { ReactNode } from "react";
import type { Deployment } from "../api/admin.ts";
import { formatBytes, formatMs, formatNumber, showInvisible } from "../lib/format.ts";
import { numberLocale } from "../lib/locales.ts";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./deployment.module.css";

type ServerProcess = Deployment["processes"][number];

const columns: readonly (readonly [name: string, render: (process: ServerProcess) => ReactNode])[] = [
  ["Machine", ({ machine, worker }) => `${showInvisible(machine)}, worker ${worker}`],
  ["Version", ({ version }) => version],
  ["Started", ({ since }) => <Time value={since} />],
  ["Processor", ({ cpu }) => cpu.toLocaleString(numberLocale, { style: "percent" })],
  ["Memory", ({ memoryBytes }) => formatBytes(memoryBytes)],
  ["Delay, p99", ({ loopDelayMs }) => formatMs(loopDelayMs)],
  [
    "In progress",
    ({ requests, connections }) => `${formatNumber(requests)} on ${formatNumber(connections)} connections`,
  ],
  ["Database", ({ databaseConnections: { inUse, max } }) => `${inUse} of ${max}`],
  ["Waiting", ({ queues }) => formatNumber(Object.values(queues).reduce((sum, each) => sum + each, 0))],
  [
    "Last heard",
    ({ heard, isSilent }) =>
      isSilent ? (
        <Status kind="neutral">
          <Time value={heard} />
        </Status>
      ) : (
        <Status kind="good">now</Status>
      ),
  ],
];

/** The processes of all machines; a silent one is grey. */
export function Processes({ processes }: { readonly processes: readonly ServerProcess[] }) {
  return (
    <section className={styles.part}>
      <h2>Processes</h2>
      <table className={styles.table}>
        <thead>
          <tr>
            {columns.map(([name]) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {processes.map((process) => (
            <tr
              key={`${process.machine} ${process.worker} ${process.since.getTime()}`}
              data-silent={process.isSilent || undefined}
            >
              {columns.map(([name, render], index) =>
                index === 0 ? (
                  <th key={name} scope="row">
                    {render(process)}
                  </th>
                ) : (
                  <td key={name} data-name={name}>
                    {render(process)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
