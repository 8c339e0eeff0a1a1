import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { listMetrics, type Metric } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import ChartColumn from "../lib/icons/chart-column.ts";
import { serviceRoot } from "../lib/service-root.ts";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { FilterChips, type FilterValues } from "../ui/filter-chips.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Page, Split } from "../ui/page.tsx";
import { Snippet } from "../ui/snippet.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";

const columns: readonly Column<Metric>[] = [
  { name: "Key", width: "minmax(220px, 4fr)", narrow: "title", render: ({ key }) => showInvisible(key) },
  { name: "Events", width: "140px", isNumber: true, render: ({ count }) => formatNumber(count) },
  {
    name: "Activity",
    width: "0",
    narrow: "line",
    isNarrowOnly: true,
    render: ({ count, lastSeen }) => (
      <>
        {count === 1 ? "1 event" : `${formatNumber(count)} events`}, <Time value={lastSeen} />
      </>
    ),
  },
  {
    name: "30 days",
    width: "112px",
    narrow: "end",
    render: ({ days }) => days && <Sparkline label={describeDays(days)} values={days} />,
  },
  { name: "Last event", width: "160px", render: ({ lastSeen }) => <Time value={lastSeen} /> },
];

/** The line in words, for people who do not see it. */
function describeDays(days: readonly number[]): string {
  const [today, most] = [days.at(-1) ?? 0, Math.max(...days)];
  return `Events of the last 30 days: ${formatNumber(today)} today, ${formatNumber(most)} on the busiest day`;
}

/** The keys under which apps report events. */
export function MetricsScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/metrics" });
  const { q } = useSearch({ from: "/frame/apps/$appid/metrics" });
  const navigate = useNavigate({ from: "/apps/$appid/metrics" });
  const pages = usePages(["metrics", appid, "keys", q], (page, options) =>
    send(listMetrics(appid, { include: "days", ...(q !== undefined && { keyPrefix: q }), ...page }), options),
  );

  function search(text: string | undefined) {
    void navigate({ search: { q: text }, replace: true });
  }

  const chips = {
    filters: [],
    values: { q },
    onChange: (values: FilterValues) => search(values["q"]),
    search: { name: "q", label: "Beginning of a key" },
  };
  return (
    <Page title="Metrics" isScrolling={false}>
      <FilterChips {...chips} />
      <Split>
        <DataTable
          label="Metrics"
          columns={columns}
          pages={pages}
          idOf={({ key }) => key}
          onOpen={({ key }) => void navigate({ to: "/apps/$appid/metrics/$key", params: { appid, key } })}
          empty={
            q === undefined ? (
              <EmptyState
                icon={ChartColumn}
                title="No app has reported anything"
                action={<Snippet text={exampleCall} />}
              >
                Apps report what happens in them under keys of their choice, with values if they like.
              </EmptyState>
            ) : (
              <NothingFound {...chips} />
            )
          }
        />
      </Split>
    </Page>
  );
}

const exampleCall = `curl ${serviceRoot()}/metrics/events/screen-opened \\
  -H "Authorization: Service $DEVICE_TOKEN" -H 'Content-Type: application/json' \\
  -d '{"values": {"screen": "map", "loadedInMs": 120}}'`;
