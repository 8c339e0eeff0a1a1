import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import ChartColumn from "lucide-react/icons/chart-column";
import { listMetrics, type Metric } from "../api/metrics.ts";
import { usePages } from "../api/pages.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import { serviceRoot } from "../lib/service-root.ts";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { FilterChips } from "../ui/filter-chips.tsx";
import { Page, Split } from "../ui/page.tsx";
import { Snippet } from "../ui/snippet.tsx";
import { EmptyState, NothingFound } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";

const columns: readonly Column<Metric>[] = [
  { name: "Key", width: "minmax(220px, 4fr)", narrow: "title", render: ({ key }) => showInvisible(key) },
  { name: "Events", width: "140px", isNumber: true, narrow: "line", render: ({ count }) => formatNumber(count) },
  { name: "Last event", width: "160px", narrow: "end", render: ({ lastSeen }) => <Time value={lastSeen} /> },
];

/** The keys under which apps report events. */
export function MetricsScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/metrics" });
  const { q } = useSearch({ from: "/frame/apps/$appid/metrics" });
  const navigate = useNavigate({ from: "/apps/$appid/metrics" });
  const pages = usePages(["metrics", appid, "keys", q], (page, options) =>
    listMetrics({ appid, ...(q !== undefined && { keyPrefix: q }), ...page }, options),
  );

  function search(text: string | undefined) {
    void navigate({ search: { q: text }, replace: true });
  }

  return (
    <Page title="Metrics" isScrolling={false}>
      <FilterChips
        filters={[]}
        values={{ q }}
        onChange={(values) => search(values["q"])}
        search={{ name: "q", label: "Beginning of a key" }}
      />
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
              <NothingFound onClear={() => search(undefined)} />
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
