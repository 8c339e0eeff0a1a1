import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { readApplicationOverview } from "../api/admin.ts";
import { useLive } from "../api/queries.ts";
import { send } from "../api/send.ts";
import GitCompareArrows from "../lib/icons/git-compare-arrows.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { fixedSearch, type RangeSearch, resolveRange, shiftRange } from "../lib/time-range.ts";
import { useBack } from "../lib/use-back.ts";
import { Button } from "../ui/button.tsx";
import { Freshness } from "../ui/freshness.tsx";
import { Page } from "../ui/page.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { TimeRangePicker } from "../ui/time-range.tsx";
import { OverviewCharts } from "./overview.charts.tsx";
import { Activity, Troubles } from "./overview.lists.tsx";
import styles from "./overview.module.css";
import { OverviewStart } from "./overview.start.tsx";
import { OverviewTiles } from "./overview.tiles.tsx";

const everyMs = 5_000;
const fallback = "24h";

/** The activity of an application, compared with its usual level. */
export function OverviewScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/overview" });
  const search = useSearch({ from: "/frame/apps/$appid/overview" });
  const { show, compare, back } = useRanges();
  const { data, error, dataUpdatedAt, isPlaceholderData, isPaused, setPaused, isError, refetch } = useLive(
    ["overview", appid, search],
    (options) => {
      const compare = search.compare === "before" || undefined;
      const { from, to, interval } = resolveRange(search, fallback, Date.now());
      const query = { from: new Date(from), to: new Date(to), interval, compare };
      return send(readApplicationOverview(appid, query), options);
    },
    everyMs,
  );
  const range = resolveRange(search, fallback, dataUpdatedAt || Date.now());
  useShortcuts([
    { keys: "[", label: "The period before", run: () => show(shiftRange(range, -1)) },
    { keys: "]", label: "The period after", run: () => show(shiftRange(range, 1)) },
    { keys: "backspace", label: "Back from a range", run: back },
  ]);
  return (
    <Page
      title="Overview"
      actions={
        <>
          <Freshness at={dataUpdatedAt} isPaused={isPaused} isFailing={isError} onPause={setPaused} />
          <Button
            kind={search.compare === "before" ? "plain" : "quiet"}
            aria-pressed={search.compare === "before"}
            onPress={compare}
          >
            <GitCompareArrows size={16} aria-hidden /> Compare
          </Button>
          <TimeRangePicker search={search} fallback={fallback} range={range} onChange={show} />
        </>
      }
    >
      {data === undefined && error === null && <LoadingRows />}
      {data === undefined && error !== null && (
        <ErrorState error={error} onRetry={() => void refetch()} subject={{ id: appid }} />
      )}
      {data !== undefined && data.totals.devices.count === 0 && <OverviewStart appid={appid} />}
      {data !== undefined && data.totals.devices.count > 0 && (
        <div className={styles.overview} data-old={isPlaceholderData || isError || undefined}>
          <OverviewTiles overview={data} />
          <div className={styles.columns}>
            <Troubles overview={data} />
            <OverviewCharts overview={data} onZoom={(from, to) => show(fixedSearch(from, to))} />
            <Activity overview={data} />
          </div>
        </div>
      )}
    </Page>
  );
}

/** Changes of the range are in the browser's history, so that each can be undone. */
function useRanges() {
  const navigate = useNavigate({ from: "/apps/$appid/overview" });
  const { noteStep, back } = useBack();
  return {
    show({ range, from, to }: RangeSearch) {
      noteStep();
      void navigate({ search: (before) => ({ ...before, range, from, to }) });
    },
    /** Shows or hides the period before. */
    compare() {
      void navigate({
        search: (before) => ({ ...before, compare: before.compare === undefined ? "before" : undefined }),
        replace: true,
      });
    },
    back,
  };
}
