import { useEffect } from "react";
import { onDropped, takeDropped } from "../lib/dropped-search.ts";
import { showInvisible } from "../lib/format.ts";
import { showNote } from "../ui/toast.tsx";

const namesMax = 5;
const nameCharactersMax = 30;

/** Says which parameters of an address its page does not have. */
export function useDroppedSearch(): void {
  useEffect(() => {
    function report() {
      const names = takeDropped();
      if (names.length === 0) return;
      const shown = names.slice(0, namesMax).map((name) => showInvisible(name.slice(0, nameCharactersMax)));
      showNote(`Left out of the address, because this page does not have it: ${shown.join(", ")}.`);
    }
    report();
    return onDropped(report);
  }, []);
}
