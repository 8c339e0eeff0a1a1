import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type CrashGroup, type ListCrashGroupsQuery, listCrashGroups } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { queryOf, send } from "../api/send.ts";
import { formatCount, formatNumber, showInvisible } from "../lib/format.ts";
import Bug from "../lib/icons/bug.ts";
import { numberLocale } from "../lib/locales.ts";
import { CrashState } from "../shell/crash.state.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { dateFilter, rangeSince } from "../ui/date-filter.ts";
import type { Filter, FilterValues } from "../ui/filter-chips.tsx";
import { ListBar } from "../ui/list-bar.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Page, Split } from "../ui/page.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { reportsByDay } from "./crash.facts.tsx";

const columns: readonly Column<CrashGroup>[] = [
  { name: "Crash", width: "minmax(240px, 5fr)", narrow: "title", render: ({ title }) => showInvisible(title) },
  { name: "Reports", width: "90px", isNumber: true, render: ({ reports }) => formatNumber(reports) },
  { name: "Devices", width: "90px", isNumber: true, render: ({ devices }) => formatNumber(devices) },
  { name: "State", width: "minmax(110px, 1fr)", render: (group) => <CrashState group={group} /> },
  {
    name: "14 days",
    width: "112px",
    render: (group) => <Sparkline label="Reports of the last 14 days" values={reportsByDay(group).reports} tone={6} />,
  },
  { name: "Versions", width: "minmax(84px, 1fr)", render: (group) => versionsOf(group) },
  { name: "Platforms", width: "minmax(140px, 2fr)", render: (group) => platformsOf(group) },
  {
    name: "Reports and versions",
    width: "0",
    narrow: "line",
    isNarrowOnly: true,
    render: (group) =>
      [
        ...[formatCount(group.reports, "report"), formatCount(group.devices, "device")],
        ...[versionsOf(group), platformsOf(group)],
      ]
        .filter((part) => part !== "")
        .join(" · "),
  },
  { name: "First seen", width: "130px", render: ({ firstSeen }) => <Time value={firstSeen} /> },
  { name: "Last seen", width: "130px", narrow: "end", render: ({ lastSeen }) => <Time value={lastSeen} /> },
];

const orders = [
  { value: "-lastSeen", label: "Last seen" },
  { value: "-firstSeen", label: "Newest first" },
  { value: "-reports", label: "Most reports" },
];

const filters: readonly Filter[] = [
  {
    name: "state",
    label: "State",
    options: [
      { value: "open", label: "Open" },
      { value: "resolved", label: "Resolved" },
      { value: "ignored", label: "Ignored" },
    ],
  },
  { name: "appVersion", label: "App version", placeholder: "2.1" },
  { name: "platform", label: "Platform", placeholder: "iOS" },
  { name: "deviceID", label: "Device", placeholder: "dev_…" },
  { name: "reopened", label: "Came back", options: [{ value: "true", label: "only" }] },
  dateFilter("firstSeen", "First seen"),
];

const savedViews = [
  { label: "New in the last 24 hours", values: { state: "open", firstSeen: "1d" } },
  { label: "Came back", values: { state: "open", reopened: "true" } },
];

const byNumbers = new Intl.Collator(numberLocale, { numeric: true });

/** The list shows open crashes unless its address says another state, or all. */
const everyState = "all";

export function CrashesScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/crashes" });
  const { sortOrder, state: given = "open", ...others } = useSearch({ from: "/frame/apps/$appid/crashes" });
  const navigate = useNavigate({ from: "/apps/$appid/crashes" });
  const state = given === everyState ? undefined : given;
  const wire = { ...others, state, firstSeen: rangeSince(others.firstSeen), sortOrder };
  const pages = usePages(["crashes", appid, "list", wire], (page, options) =>
    send(listCrashGroups(appid, { ...queryOf<ListCrashGroupsQuery>(wire), ...page }), options),
  );
  const isNarrowed =
    Object.values(others).some((value) => value !== undefined) || (state !== undefined && state !== "open");

  function changeFilters({ state: next = everyState, ...values }: FilterValues) {
    void navigate({ search: { ...values, state: next === "open" ? undefined : next }, replace: true });
  }

  const chips = { filters, values: { ...others, state, sortOrder }, onChange: changeFilters };
  return (
    <Page title="Crashes" isScrolling={false}>
      <ListBar {...chips} orders={orders} saved={savedViews} />
      <Split>
        <DataTable
          label="Crashes"
          columns={columns}
          pages={pages}
          idOf={({ fingerprint }) => fingerprint}
          onOpen={({ fingerprint }) =>
            void navigate({ to: "/apps/$appid/crashes/$fingerprint", params: { appid, fingerprint } })
          }
          empty={
            isNarrowed ? (
              <NothingFound {...chips} />
            ) : (
              <EmptyState icon={Bug} title={state === undefined ? "No app has reported a crash" : "No crash is open"}>
                That is good news, if there are devices. Apps report crashes with the token of their device, by POST
                /devices/current/crashreports.
              </EmptyState>
            )
          }
        />
      </Split>
    </Page>
  );
}

/** The lowest and the highest of the versions: "1.0 – 1.4". */
function versionsOf({ versions }: CrashGroup): string {
  const names = versions.flatMap(({ appVersion }) => appVersion ?? []).toSorted(byNumbers.compare);
  const [first, last] = [names[0], names.at(-1)];
  if (first === undefined || last === undefined) return "";
  return showInvisible(first === last ? first : `${first} – ${last}`);
}

function platformsOf({ platforms }: CrashGroup): string {
  return showInvisible(platforms.join(", "));
}
