import { Link } from "@tanstack/react-router";
import Ban from "lucide-react/icons/ban";
import CircleAlert from "lucide-react/icons/circle-alert";
import CircleCheck from "lucide-react/icons/circle-check";
import type { Deployment } from "../api/deployment.ts";
import { showInvisible } from "../lib/format.ts";
import { Time } from "../ui/time.tsx";
import styles from "./deployment.module.css";

const verdicts = {
  well: { icon: CircleCheck, title: "The deployment is well" },
  attention: { icon: CircleAlert, title: "Look at this" },
  broken: { icon: Ban, title: "Something is broken" },
} as const;

type Code = Deployment["warnings"][number]["code"];

/** The recommended action for a warning. */
const remedies: Readonly<Record<Code, string>> = {
  databaseAway: "See whether the database runs, and whether this machine reaches it.",
  databaseSlow: "The log has the slowest statements (SLOW_QUERY_MS). See what else uses the database.",
  diskLow: "Make room, or move the data to a larger disk. Writes fail when it is full.",
  loopLate: "The process has more to do than one processor can: add workers (WORKERS) or machines.",
  queueFull: "Clients were told to try again. Add processors, or look for a flood of calls.",
  backlog: "Compaction does not keep up with the metric events of an application.",
  maintenanceLate: "The log says why maintenance fails; until it runs, nothing that has expired is deleted.",
  auditLost: "More happened at once than could be written.",
  logLost: "The reader of standard output was too slow, or its disk full.",
  certificateEnds: "Renew the files of TLS_CERT_FILE and TLS_KEY_FILE; they are read again when they change.",
  mailToFiles: "Users get no mails. Set SMTP_URL to send them.",
  clearTransport: "Tokens can be read on the way. Serve https, or set REQUIRE_HTTPS to refuse such calls.",
  mixedVersions: "Finish the upgrade, or take it back.",
  regionAway: "See whether the other deployment runs, and whether this one reaches its URL in REGIONS.",
  signInGuard: "This can be password guessing.",
};

/** The filters of the audit log that show what a warning is about. */
const auditActions: Readonly<Partial<Record<Code, string>>> = { auditLost: "loseAuditEvents", signInGuard: "lockOut" };

interface VerdictProps {
  readonly deployment: Deployment;
  /** The last call failed, so that the state is that of an earlier one. */
  readonly isAway: boolean;
}

export function Verdict({ deployment: { state, warnings, processes }, isAway }: VerdictProps) {
  const { icon: Icon, title } = isAway ? { icon: Ban, title: "The server does not answer" } : verdicts[state];
  const heard = processes.filter(({ isSilent }) => !isSilent).length;
  return (
    <section className={styles.verdict} data-state={isAway ? "broken" : state} aria-label="Verdict">
      <Icon size={28} strokeWidth={1.75} aria-hidden />
      <div>
        <h2>{title}</h2>
        {warnings.length === 0 && !isAway && (
          <p>
            {heard === 1 ? "One process serves" : `${heard} processes serve`}, and none of them has anything to report.
          </p>
        )}
        {isAway && <p>What follows is older. The page asks again by itself.</p>}
        {warnings.length > 0 && (
          <ul>
            {warnings.map(({ code, text, since }) => (
              <li key={code}>
                <b>{showInvisible(text)}</b> {remedies[code]}{" "}
                {auditActions[code] !== undefined && (
                  <Link to="/audit" search={{ action: auditActions[code] }}>
                    See the audit log
                  </Link>
                )}
                {since !== undefined && (
                  <small>
                    since <Time value={since} />
                  </small>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}
