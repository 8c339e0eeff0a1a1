import { useQuery } from "@tanstack/react-query";
import { openapiQuery } from "../api/openapi.ts";

/** The remedies of the catalogue, in words for operators. */
const advice: Readonly<Record<string, string>> = {
  "fix the request": "Change what is asked for: a filter, or the address of this page.",
  "ask the operator": "Ask an owner of this deployment.",
  "log in again": "Sign in again.",
  "retry later": "Try again in a moment.",
};

/** The meaning of a condition by the catalogue of errors, and what to do. */
export function Remedy({ condition }: { readonly condition: string }) {
  const { data } = useQuery(openapiQuery);
  const found = data?.["x-error-catalogue"].find((row) => row.condition === condition);
  return found === undefined ? null : (
    <p>
      {found.when} {advice[found.remedy]}
    </p>
  );
}
