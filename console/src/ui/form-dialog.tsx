import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog, DialogActions } from "./dialog.tsx";
import { Form } from "./fields.tsx";

interface FormDialogProps {
  readonly title: string;
  /** Above the fields. */
  readonly lead?: ReactNode;
  /** The names of the fields, for the refusals of the server. */
  readonly fields: readonly string[];
  /** The name of the action: "Create". */
  readonly action: string;
  /** Whether the input is sufficient for the action. */
  readonly isReady?: boolean;
  readonly onSubmit: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog that asks for a few values and performs one action with them. */
export function FormDialog({
  title,
  lead,
  fields,
  action,
  isReady = true,
  onSubmit,
  onClose,
  children,
}: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      {lead}
      <Form fields={fields} onSubmit={onSubmit}>
        {({ isPending, problem }) => (
          <>
            {children}
            {problem}
            <DialogActions>
              <Button isDisabled={isPending} onPress={onClose}>
                Cancel
              </Button>
              <Button kind="primary" type="submit" isDisabled={!isReady} isPending={isPending}>
                {action}
              </Button>
            </DialogActions>
          </>
        )}
      </Form>
    </Dialog>
  );
}
