import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import Bug from "lucide-react/icons/bug";
import type { CrashGroup } from "../api/crashes.ts";
import { formatNumber, parseTime, showInvisible } from "../lib/format.ts";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { Page, Split } from "../ui/page.tsx";
import { SortMenu } from "../ui/sort-menu.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { useCrashGroups } from "./crashes.pages.ts";

const columns: readonly Column<CrashGroup>[] = [
  { name: "Crash", width: "minmax(260px, 5fr)", narrow: "title", render: ({ title }) => showInvisible(title) },
  { name: "Reports", width: "90px", isNumber: true, render: ({ reports }) => formatNumber(reports) },
  { name: "Devices", width: "90px", isNumber: true, render: ({ devices }) => formatNumber(devices) },
  { name: "Versions", width: "minmax(110px, 1fr)", narrow: "line", render: (group) => versionsOf(group) },
  { name: "First seen", width: "130px", render: ({ firstSeen }) => <Time value={firstSeen} /> },
  { name: "Last seen", width: "130px", narrow: "end", render: ({ lastSeen }) => <Time value={lastSeen} /> },
];

const orders = [
  { value: "-lastSeen", label: "Last seen" },
  { value: "-firstSeen", label: "Newest first" },
  { value: "-reports", label: "Most reports" },
];

export function CrashesScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/crashes" });
  const { sortOrder } = useSearch({ from: "/frame/apps/$appid/crashes" });
  const navigate = useNavigate({ from: "/apps/$appid/crashes" });
  const pages = useCrashGroups(appid, sortOrder);
  return (
    <Page
      title="Crashes"
      isScrolling={false}
      actions={
        <SortMenu
          orders={orders}
          value={sortOrder}
          onChange={(next) => void navigate({ search: { sortOrder: next }, replace: true })}
        />
      }
    >
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
            <EmptyState icon={Bug} title="No app has reported a crash">
              That is good news, if there are devices. Apps report crashes with the token of their device, by POST
              /devices/current/crashreports.
            </EmptyState>
          }
        />
      </Split>
    </Page>
  );
}

/** The first and the last of the versions: "1.0 – 1.4". */
function versionsOf({ versions }: CrashGroup): string {
  const names = versions
    .toSorted((a, b) => parseTime(a.firstSeen) - parseTime(b.firstSeen))
    .flatMap(({ appVersion }) => appVersion ?? []);
  const [first, last] = [names[0], names.at(-1)];
  if (first === undefined || last === undefined) return "";
  return showInvisible(first === last ? first : `${first} – ${last}`);
}
