import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReadMetricQuery, readMetric } from "../api/admin.ts";
import { effectiveSettingsQuery } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { formatDay, formatNumber, showInvisible } from "../lib/format.ts";
import Download from "../lib/icons/download.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { fixedSearch, type RangeSearch, shiftRange } from "../lib/time-range.ts";
import { useBack } from "../lib/use-back.ts";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Page, Section, Tabs, tabClass } from "../ui/page.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { TimeTable } from "../ui/time-chart.table.tsx";
import { TimeChart } from "../ui/time-chart.tsx";
import { TimeRangePicker } from "../ui/time-range.tsx";
import { saveTable } from "./metric.csv.ts";
import { MetricEvents } from "./metric.events.tsx";
import { chartSeries, formatFigure, measuresOf, timesOf, valueNames } from "./metric.measures.ts";
import { defaultRange, type MetricRange, metricRange } from "./metric.range.ts";
import { MetricView } from "./metric.view.tsx";
import styles from "./metrics.module.css";

/** The number of series that can be distinguished in the chart; the table has all of them. */
const drawnMax = 8;

/** The frequency of an event in apps, and its values. */
export function MetricScreen() {
  const { appid, key } = useParams({ from: "/frame/apps/$appid/metrics/$key" });
  const search = useSearch({ from: "/frame/apps/$appid/metrics/$key" });
  const isEditor = useRole("editor");
  const navigate = useNavigate({ from: "/apps/$appid/metrics/$key" });
  const range = metricRange(search, Date.now());
  const isEvents = search.tab === "events" && isEditor;

  const { noteStep, back } = useBack();

  function show({ range, from, to }: RangeSearch) {
    noteStep();
    void navigate({ search: (before) => ({ ...before, range, from, to }) });
  }

  useShortcuts([
    { keys: "[", label: "The period before", run: () => show(shiftRange(range, -1)) },
    { keys: "]", label: "The period after", run: () => show(shiftRange(range, 1)) },
    { keys: "backspace", label: "Back from a range", run: back },
  ]);
  return (
    <Page
      title={showInvisible(key)}
      isScrolling={!isEvents}
      beside={<CopyButton text={key} label="Copy the key" />}
      actions={<TimeRangePicker search={search} fallback={defaultRange} range={range} onChange={show} />}
    >
      {isEditor && (
        <Tabs label="Parts of the metric">
          {[undefined, "events"].map((tab) => (
            <Link
              key={tab ?? "chart"}
              from="/apps/$appid/metrics/$key"
              search={(before) => ({ ...before, tab })}
              replace
              className={tabClass}
              activeOptions={{ exact: true }}
              aria-current={(tab === "events") === isEvents ? "page" : undefined}
            >
              {tab === undefined ? "Over time" : "Single events"}
            </Link>
          ))}
        </Tabs>
      )}
      {isEvents ? (
        <MetricEvents appid={appid} metric={key} range={range} />
      ) : (
        <OverTime range={range} onZoom={(from, to) => show(fixedSearch(from, to))} />
      )}
    </Page>
  );
}

interface OverTimeProps {
  readonly range: MetricRange;
  readonly onZoom: (from: number, to: number) => void;
}

function OverTime({ range, onZoom }: OverTimeProps) {
  const { appid, key } = useParams({ from: "/frame/apps/$appid/metrics/$key" });
  const { value, groupBy, measure: asked, compare } = useSearch({ from: "/frame/apps/$appid/metrics/$key" });
  const isGrouped = groupBy !== undefined;
  const { from, to, interval, intervalMs } = range;
  const grouping = isGrouped ? { groupBy, ...(value !== undefined && { value }) } : {};
  const read = (start: number, end: number, grouping?: ReadMetricQuery) =>
    readMetric(appid, key, { from: new Date(start), to: new Date(end), interval, ...grouping });

  // Without a group: it has the names of all values.
  const plain = useQuery({
    queryKey: ["metric", appid, key, from, to, interval],
    queryFn: ({ signal }) => send(read(from, to), { signal }),
    placeholderData: keepPreviousData,
  });
  const grouped = useQuery({
    queryKey: ["metric", appid, key, from, to, interval, grouping],
    queryFn: ({ signal }) => send(read(from, to, grouping), { signal }),
    placeholderData: keepPreviousData,
    enabled: isGrouped,
  });
  const earlier = useQuery({
    queryKey: ["metric", appid, key, from - (to - from), from, interval, grouping],
    queryFn: ({ signal }) => send(read(from - (to - from), from, grouping), { signal }),
    enabled: compare === "before",
  });
  const shown = isGrouped ? grouped : plain;
  const { data, error } = shown;
  if (data === undefined || plain.data === undefined) {
    const problem = error ?? plain.error;
    return problem === null ? <LoadingRows /> : <ErrorState error={problem} onRetry={() => void shown.refetch()} />;
  }

  const measures = measuresOf(value, isGrouped);
  const measure = measures.find(({ name }) => name === asked) ?? measures[0];
  if (measure === undefined) return null;
  const before = compare === "before" ? earlier.data : undefined;
  const series = chartSeries(data, before, { value, measure });
  const times = timesOf(data);
  const title = value === undefined ? measure.label : `${showInvisible(value)}: ${measure.label.toLowerCase()}`;
  const drawn = { title, times, intervalMs, format: formatFigure };
  return (
    <div className={styles.metric} data-old={shown.isPlaceholderData || undefined}>
      <MetricView names={valueNames(plain.data)} measures={measures} measure={measure} range={range} />
      <TimeChart
        {...drawn}
        shape={measure.isSum ? "bars" : "lines"}
        series={series.slice(0, drawnMax)}
        onZoom={onZoom}
      />
      {series.length > drawnMax && (
        <p className={styles.note}>
          The chart shows the {drawnMax} largest of {series.length} groups, the table all.
        </p>
      )}
      <Retention appid={appid} from={from} />
      <Section title="Numbers" lead="Hours, days, weeks and months are those of UTC.">
        <div className={styles.table}>
          <TimeTable {...drawn} series={series} />
        </div>
        <div>
          <Button size="small" onPress={() => saveTable(`${key}.csv`, times, series)}>
            <Download size={16} aria-hidden /> Save as CSV
          </Button>
        </div>
      </Section>
    </div>
  );
}

const dayMs = 86_400_000;

/** The start of the stored data; older data was deleted. */
function Retention({ appid, from }: { readonly appid: string; readonly from: number }) {
  const { data } = useQuery(effectiveSettingsQuery(appid));
  const days = data?.values.retention?.metricsDays;
  if (typeof days !== "number") return null;
  const first = (Math.floor(Date.now() / dayMs) - days) * dayMs;
  return (
    <p className={styles.note}>
      Events are kept for {formatNumber(days)} days, those from {formatDay(new Date(first))} on
      {from < first ? ": the chart begins before." : "."}
    </p>
  );
}
