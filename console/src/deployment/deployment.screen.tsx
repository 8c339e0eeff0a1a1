import { readDeployment, readDeploymentStatistics } from "../api/admin.ts";
import { useLive } from "../api/queries.ts";
import { send } from "../api/send.ts";
import ClipboardCopy from "../lib/icons/clipboard-copy.ts";
import ShieldAlert from "../lib/icons/shield-alert.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/copy-button.tsx";
import { Freshness } from "../ui/freshness.tsx";
import { Page } from "../ui/page.tsx";
import { ErrorState, LoadingRows, Notice } from "../ui/states.tsx";
import { showNote } from "../ui/toast.tsx";
import { Jobs } from "./deployment.jobs.tsx";
import styles from "./deployment.module.css";
import { Busiest, ChangedSettings, Facts, Storage } from "./deployment.parts.tsx";
import { Processes } from "./deployment.processes.tsx";
import { writeSummary } from "./deployment.summary.ts";
import { DeploymentTiles } from "./deployment.tiles.tsx";
import { Verdict } from "./deployment.verdict.tsx";

const stateEveryMs = 10_000;
const callsEveryMs = 30_000;

/** The browser used https, and the server does not know it: the proxy between them is not trusted. */
function UntrustedProxy() {
  if (location.protocol !== "https:" || document.documentElement.dataset["transport"] !== "clear") return null;
  return (
    <Notice icon={ShieldAlert} isWarning>
      This page came by https, but the server was called without encryption. Set TRUST_PROXY to the address of the
      proxy: then cookies are marked Secure, and limits and the audit log have the addresses of clients.
    </Notice>
  );
}

/** The health of the deployment, and its activity. */
export function DeploymentScreen() {
  const state = useLive(["deployment"], (options) => send(readDeployment(), options), stateEveryMs);
  const calls = useLive(
    ["deployment", "calls"],
    (options) => send(readDeploymentStatistics({ series: "calls,latency,rateLimited" }), options),
    callsEveryMs,
  );
  const { data, error } = state;

  function pause(isPaused: boolean) {
    state.setPaused(isPaused);
    calls.setPaused(isPaused);
  }

  return (
    <Page
      title="Deployment"
      actions={
        <>
          <Freshness at={state.dataUpdatedAt} isPaused={state.isPaused} isFailing={state.isError} onPause={pause} />
          {data !== undefined && (
            <Button
              onPress={() =>
                void copyText(writeSummary(data)).then(() => showNote("Copied: no names, addresses or secrets."))
              }
            >
              <ClipboardCopy size={16} aria-hidden /> Copy a support summary
            </Button>
          )}
        </>
      }
    >
      {data === undefined && error === null && <LoadingRows />}
      {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void state.refetch()} />}
      {data !== undefined && (
        <div className={styles.screen} data-old={state.isError || undefined}>
          <UntrustedProxy />
          <Verdict deployment={data} isAway={state.isError} />
          <DeploymentTiles deployment={data} calls={calls.data} />
          <Processes processes={data.processes} />
          <Jobs processes={data.processes} />
          <div className={styles.columns}>
            <Busiest calls={calls.data} />
            <Storage deployment={data} />
            <Facts deployment={data} />
          </div>
          <ChangedSettings settings={data.settings} />
        </div>
      )}
    </Page>
  );
}
