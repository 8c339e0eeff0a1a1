import { type ReactNode, type SyntheticEvent, useMemo } from "react";
import type { AnsweredRequest } from "../api/admin.ts";
import { idOfCall, type RequestFilters, type useTail } from "../api/requests.ts";
import { formatCount, formatMs, showInvisible, showOptional } from "../lib/format.ts";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Split } from "../ui/page.tsx";
import { CallPanel } from "./call.panel.tsx";
import styles from "./calls.module.css";
import { Clock, nameOfCall, StatusCode } from "./calls.parts.tsx";

const callerColumns = {
  user: { name: "User", width: "68px", render: ({ user }) => user !== undefined && <IdChip id={user} isIcon /> },
  device: {
    name: "Device",
    width: "84px",
    render: ({ device }) => device !== undefined && <IdChip id={device} isIcon />,
  },
} as const satisfies Record<string, Column<AnsweredRequest>>;

/** What happened first; the ids, which only copy, last. */
const columns: readonly Column<AnsweredRequest>[] = [
  {
    name: "Time",
    width: "92px",
    narrow: "line",
    render: (call) => (
      <>
        <Clock value={call.time} />
        <span className={styles["narrow-only"]}> {showInvisible(call.message ?? call.error ?? call.path ?? "")}</span>
      </>
    ),
  },
  { name: "Status", width: "76px", narrow: "end", render: ({ status }) => <StatusCode status={status} /> },
  {
    name: "Operation",
    width: "minmax(230px, 2.6fr)",
    narrow: "title",
    render: (call) => <Operation call={call} />,
  },
  { name: "Error", width: "minmax(180px, 2fr)", render: (call) => <Failure call={call} /> },
  { name: "Took", width: "84px", isNumber: true, render: ({ ms }) => formatMs(ms) },
  { name: "Platform", width: "minmax(88px, 0.4fr)", render: ({ platform }) => showOptional(platform) },
  { name: "Address", width: "minmax(108px, 0.4fr)", render: ({ address }) => address },
  callerColumns.user,
  callerColumns.device,
  { name: "Request", width: "92px", render: ({ requestId }) => <IdChip id={requestId} isIcon /> },
];

type Tail = ReturnType<typeof useTail>;

interface CallListProps {
  readonly appid: string;
  readonly tail: Tail;
  /** The kind of caller that all calls have in common, which needs no column. */
  readonly isWithout?: keyof typeof callerColumns | undefined;
  /** The open call. */
  readonly panel: string | undefined;
  readonly onPanel: (id: string | undefined) => void;
  readonly onFilter?: (filters: RequestFilters) => void;
  /** The operator reads a row: new rows must not move it. */
  readonly onReading: () => void;
  readonly empty: ReactNode;
}

/** The calls of a live log, and the panel of the open one. */
export function CallList({ appid, tail, isWithout, panel, onPanel, onFilter, onReading, empty }: CallListProps) {
  const calls = tail.data?.calls ?? [];
  const open = calls.find((call) => idOfCall(call) === panel);
  const shown = useMemo(
    () => (isWithout === undefined ? columns : columns.filter((column) => column !== callerColumns[isWithout])),
    [isWithout],
  );

  function noteReading({ type, target }: SyntheticEvent) {
    if (!(target instanceof HTMLElement)) return;
    if (type === "scroll" ? target.scrollTop > 0 : target.role === "row") onReading();
  }

  return (
    <>
      {tail.data !== undefined && calls.length > 0 && <Reach answer={tail.data} />}
      <Split>
        <div className={styles.tail} onScrollCapture={noteReading} onFocusCapture={noteReading}>
          <DataTable
            label="Requests"
            columns={shown}
            pages={{ ...tail, error: tail.error ?? tail.earlierError, rows: calls, end: endOf(calls.length) }}
            idOf={idOfCall}
            onPanel={(call) => onPanel(idOfCall(call))}
            openId={panel}
            empty={empty}
          />
        </div>
        {open !== undefined && (
          <CallPanel appid={appid} call={open} onFilter={onFilter} onClose={() => onPanel(undefined)} />
        )}
      </Split>
    </>
  );
}

/** Not "in all": the server had more, which it does not keep any more. */
function endOf(count: number): string {
  return `${formatCount(count, "call")}, and no earlier one is kept`;
}

function Operation({ call }: { readonly call: AnsweredRequest }) {
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

function Failure({ call: { error, message, rehearsed } }: { readonly call: AnsweredRequest }) {
  return (
    <>
      {message === undefined ? error : showInvisible(message)}
      {message !== undefined && <span className={styles.path}>{error}</span>}
      {rehearsed !== undefined && <span className={styles.tag}>rehearsed</span>}
    </>
  );
}

type Answer = NonNullable<Tail["data"]>;

/** The time from which the list is complete, and the processes that it comes from. */
function Reach({ answer: { since, before, processes } }: { readonly answer: Omit<Answer, "calls"> }) {
  const silent = processes.filter(({ isSilent }) => isSilent);
  return (
    <p className={styles.reach}>
      {since !== undefined && (
        <>
          Complete since <Clock value={since} />
          {before === undefined
            ? "; a restart of the server empties the list"
            : "; earlier calls follow at the end of the list"}
        </>
      )}
      {processes.length > 1 && ` · ${processes.length - silent.length} of ${processes.length} processes`}
      {silent.length > 0 && ` · no answer from process ${silent.map(({ worker }) => worker).join(", ")}`}
    </p>
  );
}
