import { useQuery } from "@tanstack/react-query";
import { type Erasures, listErasures } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { formatBytes, formatCount } from "../lib/format.ts";
import Eraser from "../lib/icons/eraser.ts";
import { IdChip } from "../ui/id-chip.tsx";
import { Notice } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { isMore } from "./user.counts.tsx";
import styles from "./users.module.css";

const everyMs = 2_000;
const shownMax = 3;

/** The users whose data is being erased in the background, with the objects that are left. */
export function ErasuresInProgress({ appid }: { readonly appid: string }) {
  const { data } = useQuery({
    queryKey: ["users", appid, "erasures"],
    queryFn: ({ signal, client, queryKey }) =>
      send(listErasures(appid), { signal, isPolling: client.getQueryData(queryKey) !== undefined }),
    refetchInterval: ({ state }) => (state.data !== undefined && state.data.users.length > 0 ? everyMs : false),
  });
  if (data === undefined || data.users.length === 0) return null;
  const others = data.users.length > shownMax || data.isMore;
  return (
    <div className={styles.erasures} role="status">
      {data.users.slice(0, shownMax).map(({ id, since, counts }) => (
        <Notice key={id} icon={Eraser}>
          Erasing <IdChip id={id} />, deleted <Time value={since} />: {leftOf(counts)}
        </Notice>
      ))}
      {others && <p>Others are being erased, too.</p>}
    </div>
  );
}

function leftOf({ checkins, locations, metadata, files, fileBytes, identities }: Erasures["users"][number]["counts"]) {
  const left = [
    [checkins, "check-in"],
    [locations, "location"],
    [metadata, "value of metadata"],
    [identities, "identity"],
  ] as const;
  const parts = left.flatMap(([count, noun]) => (count === 0 ? [] : [formatNoun(count, noun)]));
  if (files > 0) parts.push(`${formatCount(files, "file")} (${formatBytes(fileBytes)})`);
  return parts.length === 0 ? "almost done." : `${parts.join(", ")} left.`;
}

function formatNoun(count: number, noun: string): string {
  const irregular: Readonly<Record<string, string>> = {
    identity: "identities",
    "value of metadata": "values of metadata",
  };
  const text = formatCount(count, noun, isMore(count));
  return count === 1 || irregular[noun] === undefined ? text : text.replace(`${noun}s`, irregular[noun]);
}
