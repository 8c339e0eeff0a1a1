import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { getCrashGroup, type ListedCrashReport, listCrashReports } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { formatNumber, showInvisible, showOptional } from "../lib/format.ts";
import Bug from "../lib/icons/bug.ts";
import ChevronLeft from "../lib/icons/chevron-left.ts";
import ChevronRight from "../lib/icons/chevron-right.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { CallsBefore } from "../shell/calls.before.tsx";
import { CrashState } from "../shell/crash.state.tsx";
import { IconButton } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { Problem } from "../ui/fields.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Page, Section } from "../ui/page.tsx";
import { EmptyState, ErrorState, LoadingRows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { CrashActs } from "./crash.acts.tsx";
import { GroupFacts } from "./crash.facts.tsx";
import { StackTrace } from "./crash.trace.tsx";
import { CrashVersions } from "./crash.versions.tsx";
import styles from "./crashes.module.css";

export function CrashScreen() {
  const { appid, fingerprint } = useParams({ from: "/frame/apps/$appid/crashes/$fingerprint" });
  const { data: group } = useQuery({
    queryKey: ["crashes", appid, "one", fingerprint],
    queryFn: ({ signal }) => send(getCrashGroup(appid, fingerprint), { signal }),
  });
  const pages = usePages(["crashes", appid, "reports", fingerprint], (page, options) =>
    send(listCrashReports(appid, fingerprint, page), options),
  );
  return (
    <Page
      title={group === undefined ? "Crash" : showInvisible(group.title)}
      beside={
        <>
          {group !== undefined && <CrashState group={group} />}
          <IdChip id={fingerprint} />
        </>
      }
      actions={group !== undefined && <CrashActs appid={appid} group={group} />}
    >
      {group !== undefined && (
        <>
          <GroupFacts group={group} />
          <CrashVersions appid={appid} group={group} />
        </>
      )}
      {pages.isPending && <LoadingRows />}
      {pages.error !== null && pages.rows.length === 0 && (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} subject={{ appid, id: fingerprint }} />
      )}
      {pages.rows.length > 0 && (
        <Reports
          reports={pages.rows}
          total={group?.reports}
          onMore={pages.hasNextPage ? () => void pages.fetchNextPage({ cancelRefetch: false }) : undefined}
          isFetching={pages.isFetching}
          error={pages.error}
        />
      )}
      {pages.isSuccess && pages.rows.length === 0 && <EmptyState icon={Bug} title="No report is stored any more" />}
    </Page>
  );
}

interface ReportsProps {
  readonly reports: readonly ListedCrashReport[];
  /** The number of reports of the crash, if loaded. */
  readonly total: number | undefined;
  /** Loads the reports that follow, if there are any. */
  readonly onMore: (() => void) | undefined;
  readonly isFetching: boolean;
  /** Of the last attempt to load reports. */
  readonly error: Error | null;
}

/** The reports one after the other, newest first. */
function Reports({ reports, total, onMore, isFetching, error }: ReportsProps) {
  const search = useSearch({ from: "/frame/apps/$appid/crashes/$fingerprint" });
  const navigate = useNavigate({ from: "/apps/$appid/crashes/$fingerprint" });
  const wanted = Math.max(Number.parseInt(search.report ?? "1", 10) || 1, 1);
  const position = Math.min(wanted, reports.length);
  const report = reports[position - 1];
  const isMissing = Math.min(wanted, total ?? 1) > reports.length && !isFetching && error === null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page
  useEffect(() => {
    if (isMissing) onMore?.();
  }, [isMissing, reports.length]);

  function show(next: number) {
    if (next >= reports.length) onMore?.();
    if (next < 1 || (next > reports.length && onMore === undefined)) return;
    void navigate({ search: { report: next === 1 ? undefined : String(next) }, replace: true });
  }

  useShortcuts([
    { keys: "arrowleft", label: "Newer report", run: () => show(position - 1) },
    { keys: "arrowright", label: "Older report", run: () => show(position + 1) },
  ]);
  if (report === undefined) return null;
  return (
    <Section title="Reports">
      <div className={styles.turn}>
        <IconButton label="Newer report" isDisabled={position === 1} onPress={() => show(position - 1)}>
          <ChevronLeft size={18} aria-hidden />
        </IconButton>
        <span aria-live="polite">
          Report {formatNumber(position)}
          {total !== undefined && ` of ${formatNumber(total)}`}
        </span>
        <IconButton
          label="Older report"
          isDisabled={position === reports.length && onMore === undefined}
          onPress={() => show(position + 1)}
        >
          <ChevronRight size={18} aria-hidden />
        </IconButton>
      </div>
      {error !== null && <Problem error={error} />}
      <Report report={report} />
    </Section>
  );
}

function Report({ report }: { readonly report: ListedCrashReport }) {
  const { appid } = useParams({ from: "/frame/apps/$appid/crashes/$fingerprint" });
  const { stackTrace, message, methodName, appVersion, osVersion, tag, deviceID, created } = report;
  return (
    <>
      <DetailList
        items={[
          ["When", <Time key="created" value={created} isExact />],
          ["Message", showOptional(message)],
          ["Method", showOptional(methodName)],
          ["App version", showOptional(appVersion)],
          ["System version", showOptional(osVersion)],
          ["Tag", showOptional(tag)],
          [
            "Device",
            <span key="device" className={styles.device}>
              <Link to="/apps/$appid/devices/$deviceId" params={{ appid, deviceId: deviceID }} className={styles.code}>
                {deviceID}
              </Link>
              <Link to="/apps/$appid/requests" params={{ appid }} search={{ deviceID }}>
                Its last calls
              </Link>
            </span>,
          ],
        ]}
      />
      <StackTrace text={stackTrace} />
      <CallsBefore key={report.id} appid={appid} deviceId={deviceID} at={created} />
    </>
  );
}
