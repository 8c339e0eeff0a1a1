import { lazy, type ReactNode, Suspense, useRef, useState } from "react";
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from "react-aria-components/Button";
import styles from "./button.module.css";

interface ButtonProps extends Omit<AriaButtonProps, "className" | "children"> {
  /** While its work is done, a press has no effect; the focus stays. */
  readonly isPending?: boolean;
  readonly kind?: "primary" | "plain" | "quiet" | "danger";
  readonly size?: "regular" | "small";
  readonly children: ReactNode;
}

export function Button({ kind = "plain", size = "regular", isPending = false, ...rest }: ButtonProps) {
  // Not isPending of React Aria: its announcement would name the button for seconds after the page or dialog has closed.
  const pending = isPending && ({ "aria-disabled": true, "data-busy": true, onPress: undefined } as const);
  return <AriaButton {...rest} {...pending} className={buttonClass(kind, size)} />;
}

interface IconButtonProps extends ButtonProps {
  /** The name of the button, shown as its tooltip. */
  readonly label: string;
}

export function IconButton({ kind = "quiet", size = "regular", label, ...rest }: IconButtonProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [isNear, setNear] = useState(false);
  return (
    <>
      <AriaButton
        {...rest}
        ref={button}
        aria-label={label}
        className={`${buttonClass(kind, size)} ${styles.icon}`}
        onHoverChange={setNear}
        onFocusChange={(hasFocus) => setNear(hasFocus && button.current?.matches(":focus-visible") === true)}
        onPressStart={() => setNear(false)}
      />
      {isNear && (
        <Suspense>
          <Tip trigger={button}>{label}</Tip>
        </Suspense>
      )}
    </>
  );
}

/** Loaded with the first tooltip: the sign-in has none. */
export const Tip = lazy(() => import("./tip.tsx"));

/** The class of a link that looks like a button. */
export function buttonClass(kind: NonNullable<ButtonProps["kind"]>, size: NonNullable<ButtonProps["size"]>): string {
  return `${styles.button} ${styles[kind]} ${size === "small" ? styles.small : ""}`;
}
