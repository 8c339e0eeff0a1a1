import { useEffect, useState } from "react";

/** The password of the sign-in, on its way to the dialog that changes it; in memory only. */
let handedOver: string | undefined;

export function handOverPassword(password: string): void {
  handedOver = password;
}

/** The password that the operator has just signed in with, while the dialog is open; undefined after a reload. */
export function useHandedPassword(): string | undefined {
  const [password] = useState(() => handedOver);
  useEffect(
    () => () => {
      handedOver = undefined;
    },
    [],
  );
  return password;
}
