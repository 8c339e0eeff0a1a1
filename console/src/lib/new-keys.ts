import { useEffect, useState } from "react";

/** Keys on their way from the dialog that created an application to its first page; in memory only. */
const handedOver = new Map<string, string>();

export function handOverKey(appid: string, appkey: string): void {
  handedOver.set(appid, appkey);
}

/** A key that was just created, while the page is open. */
export function useNewKey(appid: string): [key: string | undefined, setKey: (key: string) => void] {
  const [key, setKey] = useState(() => handedOver.get(appid));
  useEffect(() => () => void handedOver.delete(appid), [appid]);
  return [key, setKey];
}
