import { useQuery } from "@tanstack/react-query";
import { getApplicationImpact } from "../api/keys.ts";
import { Problem } from "../ui/fields.tsx";
import { ImpactFacts } from "../ui/impact.tsx";

/** The number of devices and users that an action against the whole application affects. */
export function ApplicationImpact({ appid }: { readonly appid: string }) {
  const { data, error } = useQuery({
    queryKey: ["impact", appid],
    queryFn: ({ signal }) => getApplicationImpact({ appid }, { signal }),
    gcTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  return <ImpactFacts impact={data} devicesThat="are registered" />;
}
