import { listMetricEvents, type ReportedMetricEvent } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { formatMs, showInvisible } from "../lib/format.ts";
import Activity from "../lib/icons/activity.ts";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Split } from "../ui/page.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import type { MetricRange } from "./metric.range.ts";

const columns: readonly Column<ReportedMetricEvent>[] = [
  { name: "When", width: "230px", narrow: "end", render: ({ timestamp }) => <Time value={timestamp} isExact /> },
  { name: "Values", width: "minmax(220px, 4fr)", narrow: "title", render: ({ values }) => valuesOf(values) },
  {
    name: "Took",
    width: "100px",
    isNumber: true,
    render: ({ elapsedTimeInMs: ms }) => ms !== undefined && formatMs(ms),
  },
  { name: "Device", width: "150px", narrow: "line", render: ({ device }) => <IdChip id={device} /> },
  { name: "User", width: "150px", render: ({ user }) => user !== undefined && <IdChip id={user} /> },
  { name: "Arrived", width: "230px", render: ({ received }) => <Time value={received} isExact /> },
];

interface MetricEventsProps {
  readonly appid: string;
  readonly metric: string;
  readonly range: MetricRange;
}

/** The events as they were reported, the newest first. Devices and users are pseudonyms. */
export function MetricEvents({ appid, metric, range: { from, to } }: MetricEventsProps) {
  const pages = usePages(["metric", appid, metric, "events", from, to], (page, options) =>
    send(listMetricEvents(appid, metric, { from: new Date(from), to: new Date(to), ...page }), options),
  );
  const places = new Map(pages.rows.map((event, index) => [event, index]));
  return (
    <Split>
      <DataTable
        label="Events"
        columns={columns}
        pages={pages}
        idOf={(event) => String(places.get(event))}
        empty={<EmptyState icon={Activity} title="Nothing was reported in this period" />}
      />
    </Split>
  );
}

function valuesOf(values: ReportedMetricEvent["values"]): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name}: ${String(value)}`);
  return pairs.length === 0 ? "–" : showInvisible(pairs.join(" · "));
}
