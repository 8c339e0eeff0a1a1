import { useSyncExternalStore } from "react";
import { CallError } from "../lib/call-error.ts";
import CircleCheck from "../lib/icons/circle-check.ts";
import CircleX from "../lib/icons/circle-x.ts";
import X from "../lib/icons/x.ts";
import { takeChange } from "../lib/last-change.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { Button, IconButton } from "./button.tsx";
import { IdChip } from "./id-chip.tsx";
import styles from "./toast.module.css";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
  /** Of the call that the toast reports. */
  readonly requestId?: string | undefined;
  readonly undo?: () => Promise<unknown>;
}

const shownMs = 10_000;
const listeners = new Set<() => void>();
let toasts: readonly Toast[] = [];
let lastId = 0;

/** Reports a change, with its `request_id`. `undo` is the opposite call, sent at most once. */
export function showToast(text: string, undo?: () => Promise<unknown>): void {
  add({ text, isError: false, requestId: takeChange(), undo });
}

/** Reports an action that happened only in the browser. */
export function showNote(text: string): void {
  add({ text, isError: false });
}

export function showError(error: unknown): void {
  const requestId = error instanceof CallError ? error.requestId : undefined;
  add({ text: error instanceof Error ? error.message : String(error), isError: true, requestId });
}

/**
 * Runs an action of level 1: immediately, with a toast that can undo it. A refusal of the server is shown, and thrown
 * to no caller.
 */
export async function act(text: string, run: () => Promise<unknown>, undo?: () => Promise<unknown>): Promise<void> {
  takeChange(); // of an earlier call without a message
  try {
    await run();
    showToast(text, undo);
  } catch (error) {
    showError(error);
  }
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  const latest = shown.findLast((toast) => toast.undo !== undefined);
  useShortcuts(latest === undefined ? [] : [{ keys: "z", label: "Undo", run: () => void undo(latest) }]);
  return (
    <div className={styles.region} role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} className={styles.toast} data-error={toast.isError || undefined}>
          {toast.isError ? <CircleX size={16} aria-hidden /> : <CircleCheck size={16} aria-hidden />}
          <span className={styles.text}>{toast.text}</span>
          {toast.requestId !== undefined && <IdChip id={toast.requestId} />}
          {toast.undo !== undefined && (
            <Button kind="quiet" size="small" onPress={() => void undo(toast)}>
              Undo
            </Button>
          )}
          <IconButton label="Close" size="small" onPress={() => remove(toast.id)}>
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      ))}
    </div>
  );
}

async function undo(toast: Toast): Promise<void> {
  remove(toast.id);
  try {
    await toast.undo?.();
  } catch (error) {
    showError(error);
  }
}

function add(toast: Omit<Toast, "id">): void {
  lastId += 1;
  const id = lastId;
  change([...toasts.slice(-2), { ...toast, id }]);
  window.setTimeout(() => remove(id), shownMs);
}

function remove(id: number): void {
  if (toasts.some((toast) => toast.id === id)) change(toasts.filter((toast) => toast.id !== id));
}

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
