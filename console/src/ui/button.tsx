import type { ReactNode } from "react";
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from "react-aria-components/Button";
import { Tooltip, TooltipTrigger } from "react-aria-components/Tooltip";
import styles from "./button.module.css";

interface ButtonProps extends Omit<AriaButtonProps, "className" | "children"> {
  readonly kind?: "primary" | "plain" | "quiet" | "danger";
  readonly size?: "regular" | "small";
  readonly children: ReactNode;
}

export function Button({ kind = "plain", size = "regular", ...rest }: ButtonProps) {
  return <AriaButton {...rest} className={buttonClass(kind, size)} />;
}

interface IconButtonProps extends ButtonProps {
  /** The name of the button, shown as its tooltip. */
  readonly label: string;
}

export function IconButton({ kind = "quiet", size = "regular", label, ...rest }: IconButtonProps) {
  return (
    <TooltipTrigger delay={400} closeDelay={0}>
      <AriaButton {...rest} aria-label={label} className={`${buttonClass(kind, size)} ${styles.icon}`} />
      <Tooltip className={styles.tooltip} offset={6}>
        {label}
      </Tooltip>
    </TooltipTrigger>
  );
}

/** The class of a link that looks like a button. */
export function buttonClass(kind: NonNullable<ButtonProps["kind"]>, size: NonNullable<ButtonProps["size"]>): string {
  return `${styles.button} ${styles[kind]} ${size === "small" ? styles.small : ""}`;
}
