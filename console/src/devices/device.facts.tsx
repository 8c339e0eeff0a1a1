import { Time } from "../ui/time.tsx";

export interface OfDevice {
  readonly appid: string;
  readonly deviceId: string;
}

/** Shows a time in the facts of a device, if there is one. */
export function timeOf(value: Date | undefined) {
  return value === undefined ? undefined : <Time key={value.getTime()} value={value} isExact />;
}
