import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import styles from "./dialog.module.css";
import { Dialog, DialogActions } from "./dialog.tsx";
import { Checkbox } from "./fields.tsx";

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  /** The purpose of the secret, and where to store it. */
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** Shows a secret only this once. Only the component that renders the dialog holds it. */
export function SecretOnce({ title, secret, children, onClose }: SecretOnceProps) {
  const [isStored, setStored] = useState(false);
  useBlocker({
    shouldBlockFn: () => !isStored && !window.confirm("The secret is not shown again. Leave without it?"),
    enableBeforeUnload: !isStored,
  });
  return (
    <Dialog title={title} onClose={onClose} isSticky>
      <div className={styles.facts}>{children}</div>
      <div className={styles.secret}>
        <code>{secret}</code>
        <CopyButton text={secret} label="Copy" />
      </div>
      <Checkbox isSelected={isStored} onChange={setStored}>
        I have stored it. It is not shown again.
      </Checkbox>
      <DialogActions>
        <Button kind="primary" isDisabled={!isStored} onPress={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
