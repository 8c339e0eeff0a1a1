import type { RefObject } from "react";
import { Tooltip, TooltipTrigger } from "react-aria-components/Tooltip";
import styles from "./button.module.css";

interface TipProps {
  readonly trigger: RefObject<Element | null>;
  readonly children: string;
}

/** An open tooltip. It needs the state of a `TooltipTrigger`, although the caller decides when it is open. */
export default function Tip({ trigger, children }: TipProps) {
  return (
    <TooltipTrigger isOpen>
      <Tooltip className={styles.tooltip} triggerRef={trigger} offset={6}>
        {children}
      </Tooltip>
    </TooltipTrigger>
  );
}
