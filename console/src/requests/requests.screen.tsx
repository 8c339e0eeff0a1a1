import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import CirclePause from "lucide-react/icons/circle-pause";
import CirclePlay from "lucide-react/icons/circle-play";
import Radio from "lucide-react/icons/radio";
import { type SyntheticEvent, useState } from "react";
import { type AnsweredCall, idOfCall, useTail } from "../api/requests.ts";
import { formatMs, showInvisible } from "../lib/format.ts";
import { serviceRoot } from "../lib/service-root.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { Button } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { type Filter, FilterChips, type FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Page, Split } from "../ui/page.tsx";
import { Snippet } from "../ui/snippet.tsx";
import { EmptyState } from "../ui/states.tsx";
import { RequestPanel } from "./request.panel.tsx";
import styles from "./requests.module.css";
import { Clock, nameOfCall, StatusCode } from "./requests.parts.tsx";

const columns: readonly Column<AnsweredCall>[] = [
  {
    name: "Time",
    width: "104px",
    narrow: "line",
    render: (call) => (
      <>
        <Clock value={call.time} />
        <span className={styles["narrow-only"]}> {call.error ?? call.path}</span>
      </>
    ),
  },
  { name: "Status", width: "92px", narrow: "end", render: ({ status }) => <StatusCode status={status} /> },
  {
    name: "Operation",
    width: "minmax(200px, 2.2fr)",
    narrow: "title",
    render: (call) => <Operation call={call} />,
  },
  { name: "Took", width: "92px", isNumber: true, render: ({ ms }) => formatMs(ms) },
  { name: "Error", width: "minmax(180px, 1.6fr)", render: (call) => <Failure call={call} /> },
  {
    name: "Caller",
    width: "164px",
    render: ({ user, device }) => (user ?? device) !== undefined && <IdChip id={user ?? device ?? ""} />,
  },
  { name: "Address", width: "minmax(124px, 0.6fr)", render: ({ address }) => address },
];

const filters: readonly Filter[] = [
  {
    name: "status",
    label: "Status",
    options: [
      { value: "2xx", label: "2xx, done" },
      { value: "4xx", label: "4xx, refused" },
      { value: "5xx", label: "5xx, failed" },
    ],
  },
  { name: "operation", label: "Operation", placeholder: "createCheckin" },
  { name: "error", label: "Error", placeholder: "ParameterOutOfRange" },
  { name: "userID", label: "User", placeholder: "usr_…" },
  { name: "deviceID", label: "Device", placeholder: "dev_…" },
  { name: "address", label: "Address", placeholder: "192.0.2.1" },
  { name: "slowerThanMs", label: "Slower than, ms", placeholder: "250" },
  { name: "requestId", label: "Request", placeholder: "request_id of an answer" },
  { name: "refused", label: "Refused or failed", options: [{ value: "true", label: "only" }] },
];

/** The last calls of an application and, until it is paused, each new one. */
export function RequestsScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/requests" });
  const { panel, ...search } = useSearch({ from: "/frame/apps/$appid/requests" });
  const navigate = useNavigate({ from: "/apps/$appid/requests" });
  const [isPaused, setPaused] = useState(false);
  const tail = useTail(appid, search, !isPaused);
  const calls = tail.data?.calls ?? [];
  const open = calls.find((call) => idOfCall(call) === panel);
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  useShortcuts([{ keys: "p", label: isPaused ? "Follow again" : "Pause", run: () => setPaused(!isPaused) }]);

  function show(next: FilterValues, replace: boolean) {
    if (next.panel !== undefined) setPaused(true);
    void navigate({ search: next, replace });
  }

  /** New rows must not move the rows that the operator reads. */
  function pauseOnReading({ type, target }: SyntheticEvent) {
    if (!(target instanceof HTMLElement)) return;
    if (type === "scroll" ? target.scrollTop > 0 : target.role === "row") setPaused(true);
  }

  const chips = { filters, values: search, onChange: (values: FilterValues) => show(values, false) };
  return (
    <Page
      title="Requests"
      isScrolling={false}
      beside={<Liveness isPaused={isPaused} hasFailed={tail.error !== null} />}
      actions={
        <Button onPress={() => setPaused(!isPaused)}>
          {isPaused ? <CirclePlay size={16} aria-hidden /> : <CirclePause size={16} aria-hidden />}
          {isPaused ? "Follow" : "Pause"}
        </Button>
      }
    >
      <FilterChips {...chips} />
      {tail.data !== undefined && calls.length > 0 && <Reach answer={tail.data} />}
      <Split>
        <div className={styles.tail} onScrollCapture={pauseOnReading} onFocusCapture={pauseOnReading}>
          <DataTable
            label="Requests"
            columns={columns}
            pages={{ ...tail, ...onePage, rows: calls }}
            idOf={idOfCall}
            onPanel={(call) => show({ ...search, panel: idOfCall(call) }, panel !== undefined)}
            openId={panel}
            empty={isFiltered ? <NothingFound {...chips} /> : <NoCalls appid={appid} since={tail.data?.since} />}
          />
        </div>
        {open !== undefined && (
          <RequestPanel
            appid={appid}
            call={open}
            onFilter={(values) => show({ ...search, ...values }, false)}
            onClose={() => show(search, true)}
          />
        )}
      </Split>
    </Page>
  );
}

/** The list grows at its beginning, never at its end. */
const onePage = { hasNextPage: false, isFetchingNextPage: false, fetchNextPage: () => undefined };

function Operation({ call }: { readonly call: AnsweredCall }) {
  const { operation, method = "", path = "", batch } = call;
  return (
    <>
      {nameOfCall(call)}
      {batch !== undefined && <span className={styles.tag}>in a batch</span>}
      {operation !== undefined && (
        <span className={styles.path}>
          {method} {showInvisible(path)}
        </span>
      )}
    </>
  );
}

function Failure({ call: { error, message, rehearsed } }: { readonly call: AnsweredCall }) {
  return (
    <>
      {error}
      {message !== undefined && <span className={styles.path}>{showInvisible(message)}</span>}
      {rehearsed !== undefined && <span className={styles.tag}>rehearsed</span>}
    </>
  );
}

function Liveness({ isPaused, hasFailed }: { readonly isPaused: boolean; readonly hasFailed: boolean }) {
  const text = isPaused ? "Paused" : hasFailed ? "Trying again" : "Live";
  return (
    <span className={styles.live} data-on={(!isPaused && !hasFailed) || undefined} role="status">
      {text}
    </span>
  );
}

type Answer = NonNullable<ReturnType<typeof useTail>["data"]>;

/** The time from which the list is complete, and the processes that it comes from. */
function Reach({ answer: { since, processes } }: { readonly answer: Pick<Answer, "since" | "processes"> }) {
  const silent = processes.filter(({ isSilent }) => isSilent);
  return (
    <p className={styles.reach}>
      {since !== undefined && (
        <>
          Complete since <Clock value={since} />; a restart of the server empties the list
        </>
      )}
      {processes.length > 1 && ` · ${processes.length - silent.length} of ${processes.length} processes`}
      {silent.length > 0 && ` · no answer from process ${silent.map(({ worker }) => worker).join(", ")}`}
    </p>
  );
}

function NoCalls({ appid, since }: { readonly appid: string; readonly since: string | undefined }) {
  const body = JSON.stringify({ appid, appkey: "<key>", platform: "test" });
  return (
    <EmptyState
      icon={Radio}
      title={since === undefined ? "No calls yet" : "No calls since the server started to listen"}
      action={<Snippet text={`curl ${serviceRoot()}/devices -H 'Content-Type: application/json' \\\n  -d '${body}'`} />}
    >
      {since !== undefined && (
        <>
          It listens since <Clock value={since} />; a restart empties the list.{" "}
        </>
      )}
      Calls of apps appear here within a second. A first one registers a device:
    </EmptyState>
  );
}
