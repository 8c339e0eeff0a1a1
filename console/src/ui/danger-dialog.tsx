import { type ReactNode, useState } from "react";
import TriangleAlert from "../lib/icons/triangle-alert.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import styles from "./dialog.module.css";
import { Dialog, DialogActions } from "./dialog.tsx";
import { Form, TextField } from "./fields.tsx";

interface DangerDialogProps {
  /** As a question: "Retire the key “Version 1.x”?" */
  readonly title: string;
  /** The effect in one line: "Ends at once, and cannot be undone". */
  readonly lead: string;
  /** Numbers, the effects on clients, and what is not affected. */
  readonly children?: ReactNode;
  /** Level 3: the text that the operator must type. */
  readonly typed?: string;
  /** Level 4: requires a recent password before the action. */
  readonly onPassword?: (password: string) => Promise<void>;
  /** The same as a command, to copy. */
  readonly command?: string;
  /** The name of the action: "Retire the key". */
  readonly action: string;
  readonly onConfirm: () => Promise<void>;
  /** For actions after which the caller shows another view in place of the dialog, such as a secret. */
  readonly staysOpen?: boolean;
  readonly onClose: () => void;
}

/** Asks for confirmation before an action of level 2, of level 3 with `typed`, and of level 4 with `onPassword`. */
export function DangerDialog(props: DangerDialogProps) {
  const { title, lead, children, typed, onPassword, command, action, onConfirm, staysOpen = false, onClose } = props;
  const [text, setText] = useState("");
  const [password, setPassword] = useState("");
  const isReady = (typed === undefined || text.trim() === typed) && (onPassword === undefined || password !== "");

  async function confirm() {
    if (!isReady) return;
    await onPassword?.(password);
    await onConfirm();
    if (!staysOpen) onClose();
  }

  return (
    <Dialog title={title} role="alertdialog" onClose={onClose}>
      <p className={styles.lead}>
        <TriangleAlert size={16} aria-hidden /> {lead}
      </p>
      {children !== undefined && <div className={styles.facts}>{children}</div>}
      {command !== undefined && (
        <p className={styles.command}>
          <code>
            {command.split(/(?<= )(?=--)/).map((part) => (
              <span key={part}>{part}</span>
            ))}
          </code>
          <CopyButton text={command} label="Copy the command" />
        </p>
      )}
      <Form fields={["password", "confirm"]} onSubmit={confirm}>
        {({ isPending, problem }) => (
          <>
            {typed !== undefined && (
              <TextField
                label={`Type “${typed}” to confirm`}
                value={text}
                onChange={setText}
                autoComplete="off"
                isCode
              />
            )}
            {onPassword !== undefined && (
              <TextField
                label="Your password"
                name="password"
                type="password"
                autoComplete="current-password"
                value={password}
                onChange={setPassword}
              />
            )}
            {problem}
            <DialogActions>
              <Button
                autoFocus={typed === undefined && onPassword === undefined}
                isDisabled={isPending}
                onPress={onClose}
              >
                Cancel
              </Button>
              <Button kind="danger" type="submit" isDisabled={!isReady} isPending={isPending}>
                {action}
              </Button>
            </DialogActions>
          </>
        )}
      </Form>
    </Dialog>
  );
}
