import type { MouseEvent } from "react";
import type { Deployment, DeploymentWarningCode } from "../api/admin.ts";
import { known } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import Ban from "../lib/icons/ban.ts";
import CircleAlert from "../lib/icons/circle-alert.ts";
import CircleCheck from "../lib/icons/circle-check.ts";
import { Time } from "../ui/time.tsx";
import styles from "./deployment.module.css";

const verdicts = {
  well: { icon: CircleCheck, title: "The deployment is well" },
  attention: { icon: CircleAlert, title: "Needs attention" },
  broken: { icon: Ban, title: "Something is broken" },
} as const;

/** The recommended action for a warning. */
const remedies: Readonly<Record<DeploymentWarningCode, string>> = {
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
  publicUrlMissing: "Set PUBLIC_URL to the address that all clients use.",
  clearTransport: "Tokens can be read on the way. Serve https, or set REQUIRE_HTTPS to refuse such calls.",
  mixedVersions: "Finish the upgrade, or take it back.",
  secretsDiffer: "Give every process the same ROLLCALL_SECRET; until then each refuses the tokens of the other.",
  regionsDiffer: "Give every process the same REGION; until then each refuses the tokens of the other.",
  clockDiffers: "Synchronize the clocks of all machines with NTP.",
  regionAway: "See whether the other deployment runs, and whether this one reaches its URL in REGIONS.",
  signInGuard: "This can be password guessing.",
};

/** Where the subject of a warning is shown: the heading of a part of this screen, or another screen. */
const places: Readonly<Record<DeploymentWarningCode, string | { readonly label: string; readonly to: string }>> = {
  databaseAway: "Processes",
  databaseSlow: "Processes",
  diskLow: "Storage",
  loopLate: "Processes",
  queueFull: "Processes",
  backlog: "Busiest applications",
  maintenanceLate: "Processes",
  auditLost: { label: "See the audit log", to: "/audit?action=loseAuditEvents" },
  logLost: "Processes",
  certificateEnds: "Settings that differ from their defaults",
  mailToFiles: "Settings that differ from their defaults",
  publicUrlMissing: "Settings that differ from their defaults",
  clearTransport: "Settings that differ from their defaults",
  mixedVersions: "Processes",
  secretsDiffer: "Processes",
  regionsDiffer: "Processes",
  clockDiffers: "Processes",
  regionAway: { label: "See the applications there", to: "/apps?state=elsewhere" },
  signInGuard: { label: "See the audit log", to: "/audit?action=lockOut" },
};

interface VerdictProps {
  readonly deployment: Deployment;
  /** The last call failed, so that the state is that of an earlier one. */
  readonly isAway: boolean;
}

export function Verdict({ deployment: { state, warnings, processes }, isAway }: VerdictProps) {
  const { icon: Icon, title } = isAway ? { icon: Ban, title: "The server does not answer" } : verdicts[known(state)];
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
                <b>{showInvisible(text)}</b> {remedies[known(code)]} <PlaceLink code={known(code)} />{" "}
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

function PlaceLink({ code }: { readonly code: DeploymentWarningCode }) {
  const place = places[code];
  if (typeof place !== "string") return <a href={`#${place.to}`}>{place.label}</a>;
  return (
    <a href={window.location.hash || "#/"} onClick={(event) => showPart(event, place)}>
      See below
    </a>
  );
}

/** An address has only one #, which names the screen. */
function showPart(event: MouseEvent, title: string): void {
  event.preventDefault();
  const headings = [...document.querySelectorAll<HTMLElement>("#main h2")];
  const heading = headings.find(({ textContent }) => textContent === title);
  if (heading === undefined) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  heading.scrollIntoView({ block: "start" });
}
