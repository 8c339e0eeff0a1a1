import type { Filter } from "./filter-chips.tsx";

const dayMs = 86_400_000;

/** A filter by the days since an event; `created:2026-11-01` in the search box is from that day on. */
export function dateFilter(name: string, label: string): Filter {
  return {
    name,
    label,
    options: [
      { value: "1d", label: "since yesterday" },
      { value: "7d", label: "last 7 days" },
      { value: "30d", label: "last 30 days" },
      { value: "90d", label: "last 90 days" },
    ],
  };
}

/** The value of such a filter as a range of the API. It starts with a day, so that all pages of a list have the same range. */
export function rangeSince(value: string | undefined, now = Date.now()): { readonly from: Date } | undefined {
  if (value === undefined) return undefined;
  const days = /^(\d{1,4})d$/.exec(value)?.[1];
  return { from: new Date(days === undefined ? value : (Math.floor(now / dayMs) - Number(days)) * dayMs) };
}
