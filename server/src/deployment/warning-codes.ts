/** The warnings for the operators of a deployment; the list is closed. */
export const warningCodes = {
  databaseAway: "A process could not reach the database within the last minute.",
  databaseSlow: "5 % of the statements of the last five minutes took longer than 250 ms.",
  diskLow: "A disk has less than 10 % or 2 GB left.",
  loopLate: "1 % of the work of a process began 200 ms late, over a minute.",
  queueFull: "A full queue refused something in the last five minutes.",
  backlog: "300,000 metric events or more wait for compaction.",
  maintenanceLate: "No maintenance was finished for ten minutes.",
  auditLost: "Entries of the audit log were lost in the last hour.",
  logLost: "Log lines were lost in the last hour.",
  certificateEnds: "The certificate ends within 14 days.",
  mailToFiles: "Mails are written to files: there is no mail server.",
  publicUrlMissing: "PUBLIC_URL is not set, and HOST is not this machine alone.",
  clearTransport: "Another machine called without https in the last hour.",
  mixedVersions: "Several versions have run for more than an hour.",
  secretsDiffer: "A process cannot open what other processes seal: its ROLLCALL_SECRET is another one.",
  regionsDiffer: "Processes run with different regions (REGION).",
  clockDiffers: "The clock of a process differs by more than 30 seconds.",
  regionAway: "The last call to another region failed, within the last hour.",
  signInGuard: "Sign-ins had to wait ten times or more in ten minutes.",
} as const;

export type WarningCode = keyof typeof warningCodes;
