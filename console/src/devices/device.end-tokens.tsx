import { useQuery, useQueryClient } from "@tanstack/react-query";
import { endTokensOfDevice, listUsersOfDevice, type OperatedDevice } from "../api/admin.ts";
import { refetch } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { endOfId, formatBounded, showInvisible } from "../lib/format.ts";
import { DangerDialog } from "../ui/danger-dialog.tsx";
import { Problem } from "../ui/fields.tsx";
import { showToast } from "../ui/toast.tsx";

interface EndTokensProps {
  readonly appid: string;
  readonly device: OperatedDevice;
  readonly onClose: () => void;
}

/** The maximum number of users that the dialog counts; a device has few. */
const usersMax = 100;

/** Asks for confirmation before the tokens of a device and its users are revoked. */
export function EndTokensOfDevice({ appid, device: { id, platform }, onClose }: EndTokensProps) {
  const queries = useQueryClient();

  async function confirm() {
    await send(endTokensOfDevice(appid, id));
    await refetch(queries, ["devices", appid], ["users", appid]);
    showToast("Ended all tokens of the device.");
  }

  return (
    <DangerDialog
      title={`End all tokens of this ${showInvisible(platform)} device?`}
      lead="Ends at once, and cannot be undone"
      typed={endOfId(id)}
      command={`npx rollcall devices revoke ${appid} ${id}`}
      action="End all tokens"
      onConfirm={confirm}
      onClose={onClose}
    >
      <SignedInUsers appid={appid} deviceId={id} />
      <p>
        The next call of the device gets AuthTokenInvalid. The app has to register it again, and its users have to sign
        in again.
      </p>
      <p>Does not end: signed addresses of files, for up to an hour, and what the users have on other devices.</p>
    </DangerDialog>
  );
}

function SignedInUsers({ appid, deviceId }: { readonly appid: string; readonly deviceId: string }) {
  const { data, error } = useQuery({
    queryKey: ["devices", appid, "signed-in", deviceId],
    queryFn: ({ signal }) => send(listUsersOfDevice(appid, deviceId, { pageSize: usersMax }), { signal }),
    staleTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <p role="status">Counting …</p>;
  const { pageResults, nextToken } = data;
  if (pageResults.length === 0) return <p>No user is signed in on it.</p>;
  const count = formatBounded(pageResults.length, nextToken !== undefined);
  return (
    <p>
      <b>
        {count} {count === "1" ? "user" : "users"}
      </b>{" "}
      signed in on it: {namesOf(pageResults)}.
    </p>
  );
}

const namesShown = 3;

function namesOf(users: readonly { readonly userName: string }[]): string {
  const names = users.slice(0, namesShown).map(({ userName }) => showInvisible(userName));
  return [...names, ...(users.length > namesShown ? ["others"] : [])].join(", ");
}
