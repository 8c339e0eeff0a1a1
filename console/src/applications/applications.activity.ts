import type { Application } from "../api/admin.ts";
import { formatNumber, formatShare } from "../lib/format.ts";
import { numberLocale } from "../lib/locales.ts";

export type Activity = NonNullable<Application["activity"]>;

export function activityOf(activity: Activity): string[] {
  const errors = errorsOf(activity);
  return [`${formatRate(activity.callsPerMinute)} calls a minute`, ...(errors ? [`${errors} errors`] : [])];
}

export function formatRate(perMinute: number): string {
  return perMinute.toLocaleString(numberLocale, { maximumFractionDigits: 1 });
}

export function errorsOf({ calls, errors }: Activity): string | false {
  return calls > 0 && formatShare(errors / calls);
}

/** A number that may date from last night is shown as "about". */
export function counted({ count, isExact }: { readonly count: number; readonly isExact: boolean }): string {
  return `${isExact ? "" : "~"}${formatNumber(count)}`;
}
