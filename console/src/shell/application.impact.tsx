import { useQuery } from "@tanstack/react-query";
import { getApplicationImpact } from "../api/keys.ts";
import { Problem } from "../ui/fields.tsx";
import { ImpactFacts } from "../ui/impact.tsx";

/** How many devices and users an act against the whole application concerns. */
export function ApplicationImpact({ appid }: { readonly appid: string }) {
  const { data, error } = useQuery({
    queryKey: ["impact", appid],
    queryFn: ({ signal }) => getApplicationImpact({ appid }, { signal }),
    gcTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  return <ImpactFacts impact={data} devicesThat="are registered" />;
}
