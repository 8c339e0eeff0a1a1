import { Time } from "../ui/time.tsx";

/** Shows a time in the facts of a device, if there is one. */
export function timeOf(value: string | undefined) {
  return value === undefined ? undefined : <Time key={value} value={value} isExact />;
}
