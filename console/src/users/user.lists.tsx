import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import {
  type Identity,
  listDevicesOfUser,
  listIdentitiesOfUser,
  listTokensOfUser,
  type OperatedCheckin,
  type OperatedDevice,
  type OperatedToken,
  searchOperatedCheckins,
} from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import IdCard from "../lib/icons/id-card.ts";
import KeyRound from "../lib/icons/key-round.ts";
import LogOut from "../lib/icons/log-out.ts";
import MapPin from "../lib/icons/map-pin.ts";
import Smartphone from "../lib/icons/smartphone.ts";
import { useRole } from "../shell/session.ts";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Split } from "../ui/page.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import type { OfUser } from "./user.counts.tsx";
import { EndToken } from "./user.dialogs.tsx";

const tokenColumns: readonly Column<OperatedToken>[] = [
  {
    name: "Platform",
    width: "minmax(120px, 1fr)",
    narrow: "title",
    render: ({ platform }) => showInvisible(platform),
  },
  { name: "Device", width: "minmax(150px, 1fr)", render: ({ deviceID }) => <IdChip id={deviceID} /> },
  {
    name: "Last used",
    width: "minmax(120px, 1fr)",
    narrow: "line",
    render: ({ lastUsed }) => <Time value={lastUsed} />,
  },
  { name: "Since", width: "minmax(120px, 1fr)", render: ({ created }) => <Time value={created} /> },
  { name: "Ends", width: "minmax(120px, 1fr)", narrow: "end", render: ({ expires }) => <Time value={expires} /> },
];

/** The tokens of a user, each of one sign-in. */
export function UserSignIns(user: OfUser) {
  const [ended, setEnded] = useState<OperatedToken>();
  const isEditor = useRole("editor");
  const pages = usePages(["users", user.appid, "tokens", user.userId], (page, options) =>
    send(listTokensOfUser(user.appid, user.userId, page), options),
  );
  return (
    <Split>
      <DataTable
        label="Sign-ins"
        columns={tokenColumns}
        pages={pages}
        idOf={({ id }) => id}
        actionsOf={
          isEditor
            ? (token) => [{ label: "End …", icon: LogOut, isDanger: true, run: () => setEnded(token) }]
            : undefined
        }
        empty={
          <EmptyState icon={KeyRound} title="Signed in nowhere">
            Each sign-in on a device makes a token, which is listed here until it ends.
          </EmptyState>
        }
      />
      {ended !== undefined && <EndToken {...user} token={ended} onClose={() => setEnded(undefined)} />}
    </Split>
  );
}

const deviceColumns: readonly Column<OperatedDevice>[] = [
  {
    name: "Platform",
    width: "minmax(120px, 1fr)",
    narrow: "title",
    render: ({ platform }) => showInvisible(platform),
  },
  {
    name: "Model",
    width: "minmax(120px, 1.5fr)",
    narrow: "line",
    render: ({ model }) => model && showInvisible(model),
  },
  { name: "System", width: "minmax(90px, 1fr)", render: ({ osVersion }) => osVersion && showInvisible(osVersion) },
  { name: "App", width: "minmax(90px, 1fr)", render: ({ appVersion }) => appVersion && showInvisible(appVersion) },
  {
    name: "Last seen",
    width: "minmax(120px, 1fr)",
    narrow: "end",
    render: ({ lastSeen }) => lastSeen !== undefined && <Time value={lastSeen} />,
  },
  { name: "Id", width: "150px", render: ({ id }) => <IdChip id={id} /> },
];

export function UserDevices(user: OfUser) {
  const { appid } = user;
  const navigate = useNavigate();
  const pages = usePages(["users", appid, "devices", user.userId], (page, options) =>
    send(listDevicesOfUser(user.appid, user.userId, page), options),
  );
  return (
    <Split>
      <DataTable
        label="Devices"
        columns={deviceColumns}
        pages={pages}
        idOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: "/apps/$appid/devices/$deviceId", params: { appid, deviceId: id } })}
        empty={
          <EmptyState icon={Smartphone} title="No device">
            The devices on which the user is signed in are listed here.
          </EmptyState>
        }
      />
    </Split>
  );
}

/** Without the true location, so that no screen shows it. */
type ShownCheckin = Omit<OperatedCheckin, "location">;

const checkinColumns: readonly Column<ShownCheckin>[] = [
  {
    name: "Comment",
    width: "minmax(160px, 2fr)",
    narrow: "title",
    render: ({ comment }) => comment && showInvisible(comment),
  },
  {
    name: "Created",
    width: "minmax(220px, 1fr)",
    narrow: "line",
    render: ({ created }) => <Time value={created} isExact />,
  },
  {
    name: "Others see it at",
    width: "minmax(140px, 1fr)",
    render: ({ shownLocation }) => shownLocation && `${degrees(shownLocation.lat)}, ${degrees(shownLocation.lng)}`,
  },
  {
    name: "Read by",
    width: "minmax(110px, 1fr)",
    narrow: "end",
    render: ({ readPermissions }) => (readPermissions === "App" ? "All users" : "Private"),
  },
  { name: "Id", width: "150px", render: ({ id }) => <IdChip id={id} /> },
];

/** A hundred metres. */
function degrees(value: number): string {
  return value.toFixed(3);
}

export function UserCheckins({ appid, userId }: OfUser) {
  const pages = usePages(["users", appid, "checkins", userId], (page, options) =>
    send(searchOperatedCheckins(appid, { userID: userId, ...page }), options),
  );
  return (
    <Split>
      <DataTable
        label="Check-ins"
        columns={checkinColumns}
        pages={pages}
        idOf={({ id }) => id}
        empty={
          <EmptyState icon={MapPin} title="No check-in yet">
            Users check in at places with the app. Only places that others see fuzzed are shown here.
          </EmptyState>
        }
      />
    </Split>
  );
}

const identityColumns: readonly Column<Identity>[] = [
  {
    name: "System",
    width: "minmax(140px, 1fr)",
    narrow: "title",
    render: ({ identityProviderName }) => showInvisible(identityProviderName),
  },
  {
    name: "Identifier",
    width: "minmax(160px, 2fr)",
    narrow: "line",
    render: ({ identityProviderID }) => showInvisible(identityProviderID),
  },
  {
    name: "Since",
    width: "minmax(120px, 1fr)",
    narrow: "end",
    render: ({ created }) => <Time value={created} />,
  },
];

export function UserIdentities(user: OfUser) {
  const pages = usePages(["users", user.appid, "identities", user.userId], (page, options) =>
    send(listIdentitiesOfUser(user.appid, user.userId, page), options),
  );
  return (
    <Split>
      <DataTable
        label="Identities"
        columns={identityColumns}
        pages={pages}
        idOf={({ identityProviderName, identityProviderID }) => `${identityProviderName} ${identityProviderID}`}
        empty={
          <EmptyState icon={IdCard} title="No identity in another system">
            Apps connect users with their identities elsewhere, such as one at an identity provider.
          </EmptyState>
        }
      />
    </Split>
  );
}
