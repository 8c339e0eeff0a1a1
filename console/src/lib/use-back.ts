import { useRouter } from "@tanstack/react-router";
import { useRef } from "react";

/** Goes back from the ranges that were chosen on a page, each an entry of the browser's history, and no further. */
export function useBack(): { readonly noteStep: () => void; readonly back: () => void } {
  const { history } = useRouter();
  const steps = useRef(0);
  return {
    noteStep() {
      steps.current += 1;
    },
    back() {
      if (steps.current === 0) return;
      steps.current -= 1;
      history.back();
    },
  };
}
