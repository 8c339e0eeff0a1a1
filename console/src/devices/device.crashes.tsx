import { useNavigate } from "@tanstack/react-router";
import { type CrashGroup, listCrashGroups } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import Bug from "../lib/icons/bug.ts";
import { CrashState } from "../shell/crash.state.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import type { OfDevice } from "./device.facts.tsx";

const columns: readonly Column<CrashGroup>[] = [
  { name: "Crash", width: "minmax(220px, 4fr)", narrow: "title", render: ({ title }) => showInvisible(title) },
  { name: "State", width: "minmax(110px, 1fr)", narrow: "line", render: (group) => <CrashState group={group} /> },
  { name: "Reports", width: "90px", isNumber: true, render: ({ reports }) => formatNumber(reports) },
  { name: "Devices", width: "90px", isNumber: true, render: ({ devices }) => formatNumber(devices) },
  { name: "Last seen", width: "130px", narrow: "end", render: ({ lastSeen }) => <Time value={lastSeen} /> },
];

/** The crashes that a device has reported, in whatever state. */
export function DeviceCrashes({ appid, deviceId }: OfDevice) {
  const navigate = useNavigate();
  const pages = usePages(["crashes", appid, "device", deviceId], (page, options) =>
    send(listCrashGroups(appid, { deviceID: deviceId, ...page }), options),
  );
  return (
    <DataTable
      label="Crashes of this device"
      columns={columns}
      pages={pages}
      idOf={({ fingerprint }) => fingerprint}
      onOpen={({ fingerprint }) =>
        void navigate({ to: "/apps/$appid/crashes/$fingerprint", params: { appid, fingerprint } })
      }
      empty={<EmptyState icon={Bug} title="This device has reported no crash" />}
    />
  );
}
