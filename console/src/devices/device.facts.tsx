import { Time } from "../ui/time.tsx";

/** A moment in the facts of a device, if it is known. */
export function timeOf(value: string | undefined) {
  return value === undefined ? undefined : <Time key={value} value={value} isExact />;
}
