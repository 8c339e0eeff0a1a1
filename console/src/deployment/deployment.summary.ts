import type { Deployment } from "../api/admin.ts";

/** Settings whose values name people or machines. */
const withNames = /URL|HOST|PROXY|ADDRESSES|NETWORKS|MAIL_FROM|DIR|FILE|REGIONS|ENDPOINT/;

/** The state of the deployment for a request for help, as JSON: without names of machines, addresses and secrets. */
export function writeSummary({ processes, settings, warnings, ...others }: Deployment): string {
  const summary = {
    ...others,
    warnings: warnings.map(({ code, since }) => ({ code, ...(since !== undefined && { since }) })),
    processes: processes.map(({ machine: _, ...process }) => process),
    settings: Object.fromEntries(settings.map(({ name, value }) => [name, withNames.test(name) ? "set" : value])),
  };
  return JSON.stringify(summary, undefined, 2);
}
