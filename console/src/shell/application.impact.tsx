import { useQuery } from "@tanstack/react-query";
import { getImpactOfApplication, readApplicationOverview } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { formatCount } from "../lib/format.ts";
import { intervals } from "../lib/time-range.ts";
import { Problem } from "../ui/fields.tsx";
import { ImpactFacts } from "../ui/impact.tsx";

/** The number of devices and users that an action against the application affects. */
export function ApplicationImpact({ appid }: { readonly appid: string }) {
  const { data, error } = useQuery({
    queryKey: ["impact", appid],
    queryFn: ({ signal }) => send(getImpactOfApplication(appid), { signal }),
    gcTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  return <ImpactFacts impact={data} devicesThat="are registered" />;
}

/** The number of users of an application, and of the calls of its clients in the last hour. */
export function UseOfApplication({ appid }: { readonly appid: string }) {
  const { data, error } = useQuery({
    queryKey: ["overview", appid, "use"],
    queryFn({ signal }) {
      const to = Math.floor(Date.now() / intervals.minute) * intervals.minute;
      const query = { from: new Date(to - intervals.hour), to: new Date(to), interval: "minute" } as const;
      return send(readApplicationOverview(appid, query), { signal });
    },
    gcTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <p role="status">Counting …</p>;
  const series = data.statistics.series.filter(({ name }) => name.startsWith("calls."));
  const calls = series.flatMap(({ points }) => points).reduce((sum, { value }) => sum + value, 0);
  return (
    <p>
      <b>{formatCount(data.totals.users.count, "user")}</b>, and <b>{formatCount(calls, "call")}</b> in the last hour.
    </p>
  );
}
