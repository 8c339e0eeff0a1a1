import { type ReactNode, useState } from "react";
import { Dialog as AriaDialog } from "react-aria-components/Dialog";
import { Heading } from "react-aria-components/Heading";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { Busy } from "./busy.ts";
import styles from "./dialog.module.css";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly isWide?: boolean;
  /** For secrets: neither Escape nor a press outside the dialog closes it. */
  readonly isSticky?: boolean;
  readonly role?: "dialog" | "alertdialog";
}

/** Shown while it is rendered, and not closed while a form in it is sent. The focus returns to the previous element. */
export function Dialog({ title, onClose, children, isWide = false, isSticky = false, role = "dialog" }: DialogProps) {
  const [isBusy, setBusy] = useState(false);
  return (
    <ModalOverlay
      className={styles.overlay}
      isOpen
      isDismissable={!isSticky && !isBusy && role === "dialog"}
      isKeyboardDismissDisabled={isSticky || isBusy}
      onOpenChange={(isOpen) => !isOpen && onClose()}
    >
      <Modal className={`${styles.modal} ${isWide ? styles.wide : ""}`}>
        <AriaDialog className={styles.dialog} role={role}>
          <Heading slot="title" className={styles.title}>
            {title}
          </Heading>
          <Busy value={setBusy}>{children}</Busy>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

export function DialogActions({ children }: { readonly children: ReactNode }) {
  return <div className={styles.actions}>{children}</div>;
}
