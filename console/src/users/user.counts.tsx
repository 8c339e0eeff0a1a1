import { queryOptions, useQuery } from "@tanstack/react-query";
import { getOperatedUser, type OperatedUserWithCounts } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { formatBounded, formatBytes } from "../lib/format.ts";
import { DetailList } from "../ui/detail-list.tsx";
import { Problem } from "../ui/fields.tsx";

/** The maximum to which the server counts. */
const countMax = 1000;

export interface OfUser {
  readonly appid: string;
  readonly userId: string;
}

export function userQuery({ appid, userId }: OfUser) {
  return queryOptions({
    queryKey: ["users", appid, "one", userId],
    queryFn: ({ signal }) => send(getOperatedUser(appid, userId), { signal }),
  });
}

/** The objects of a user. */
export function UserCountsList(user: OfUser) {
  const { data, error } = useQuery(userQuery(user));
  if (error !== null) return <Problem error={error} />;
  return data === undefined ? <p role="status">Counting …</p> : <CountsList counts={data.counts} />;
}

export function CountsList({ counts }: Pick<OperatedUserWithCounts, "counts">) {
  const { checkins, locations, metadata, files, fileBytes, identities, tokens } = counts;
  return (
    <DetailList
      items={[
        ["Check-ins", bounded(checkins)],
        ["Locations", bounded(locations)],
        ["Metadata", bounded(metadata)],
        ["Files", files === 0 ? "0" : `${bounded(files)}, ${formatBytes(fileBytes)}`],
        ["Identities", bounded(identities)],
        ["Sign-ins", bounded(tokens)],
      ]}
    />
  );
}

function bounded(count: number): string {
  return formatBounded(count, isMore(count));
}

/** Whether the server may have stopped counting here. */
export function isMore(count: number): boolean {
  return count >= countMax;
}
