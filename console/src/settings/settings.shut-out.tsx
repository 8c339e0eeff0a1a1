import { ApplicationImpact } from "../shell/application.impact.tsx";
import { DangerDialog } from "../ui/danger-dialog.tsx";

interface ShutOutDialogProps {
  readonly appid: string;
  readonly sentences: readonly string[];
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for confirmation before settings are saved that exclude clients. */
export function ShutOutDialog({ appid, sentences, onConfirm, onClose }: ShutOutDialogProps) {
  return (
    <DangerDialog
      title="Save a change that shuts clients out?"
      lead="Takes effect with the next call"
      typed={appid}
      action="Save"
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <ApplicationImpact appid={appid} />
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <p>It can be undone: the earlier settings can be saved again.</p>
    </DangerDialog>
  );
}
