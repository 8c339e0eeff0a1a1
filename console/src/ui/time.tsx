import { formatExact, formatRelative, parseTime } from "../lib/format.ts";
import { usePreferences } from "../lib/preferences.ts";

interface TimeProps {
  readonly value: string;
  /** To the second, for logs. */
  readonly isExact?: boolean;
}

/** A moment, relative to the present, with the exact time in its title. */
export function Time({ value, isExact = false }: TimeProps) {
  usePreferences(); // the time zone
  const exact = formatExact(value);
  return (
    <time dateTime={new Date(parseTime(value)).toISOString()} title={exact}>
      {isExact ? exact : formatRelative(value)}
    </time>
  );
}
