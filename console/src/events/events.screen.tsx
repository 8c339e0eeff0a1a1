import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { getOperatedEvent, listOperatedEvents, type OperatedEvent } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import Zap from "../lib/icons/zap.ts";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { dateFilter, rangeSince } from "../ui/date-filter.ts";
import { type Filter, FilterChips, type FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Page, Split } from "../ui/page.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { EventPanel } from "./event.panel.tsx";

const columns: readonly Column<OperatedEvent>[] = [
  {
    name: "Time",
    width: "220px",
    narrow: "line",
    render: ({ created }) => <Time value={created} isExact />,
  },
  { name: "Event", width: "minmax(210px, 1.5fr)", narrow: "title", render: ({ type }) => showInvisible(type) },
  { name: "About", width: "150px", render: ({ objectID }) => objectID && <IdChip id={objectID} /> },
  { name: "Owner", width: "150px", render: ({ userID }) => userID && <IdChip id={userID} /> },
  { name: "By", width: "minmax(90px, 0.5fr)", narrow: "end", render: ({ actor }) => actor?.kind },
  {
    name: "Changed",
    width: "minmax(140px, 2fr)",
    render: ({ changed, key }) => showInvisible(key ?? changed?.join(", ") ?? ""),
  },
];

const filters: readonly Filter[] = [
  { name: "type", label: "Event", placeholder: "checkin.created, user.*" },
  { name: "objectID", label: "About", placeholder: "chk_…, usr_…" },
  { name: "userID", label: "Owner", placeholder: "usr_…" },
  dateFilter("created", "Time"),
];

/** The event log of an application, as streams and webhooks send it. */
export function EventsScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/events" });
  const { panel, ...search } = useSearch({ from: "/frame/apps/$appid/events" });
  const navigate = useNavigate({ from: "/apps/$appid/events" });
  const wire = { ...search, created: rangeSince(search.created) };
  const pages = usePages(["events", appid, wire], (page, options) =>
    send(listOperatedEvents(appid, { ...wire, ...page }), options),
  );
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  const listed = pages.rows.find(({ sequence }) => sequence === panel);
  const { data: linked } = useQuery({
    queryKey: ["events", appid, "one", panel],
    queryFn: ({ signal }) => send(getOperatedEvent(appid, (panel ?? "").replace(/^0+/, "")), { signal }),
    enabled: panel !== undefined && listed === undefined && !pages.isPending,
  });
  const open = listed ?? (panel === undefined ? undefined : linked);
  const show = (values: FilterValues, replace: boolean) => void navigate({ search: values, replace });
  const chips = { filters, values: search, onChange: (values: FilterValues) => show(values, false) };
  return (
    <Page title="Events" isScrolling={false}>
      <FilterChips {...chips} />
      <Split>
        <DataTable
          label="Events"
          columns={columns}
          pages={pages}
          idOf={({ sequence }) => sequence}
          onPanel={({ sequence }) => show({ ...search, panel: sequence }, panel !== undefined)}
          openId={panel}
          empty={
            isFiltered ? (
              <NothingFound {...chips} />
            ) : (
              <EmptyState icon={Zap} title="Nothing is recorded yet">
                Events are recorded once a client reads them or a webhook wants them, or always, if the settings say so.
              </EmptyState>
            )
          }
        />
        {open !== undefined && (
          <EventPanel
            key={open.sequence}
            appid={appid}
            event={open}
            onFilter={(values) => show(values, false)}
            onClose={() => show(search, true)}
          />
        )}
      </Split>
    </Page>
  );
}
