import { type ComponentType, createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { CallError } from "../lib/call-error.ts";
import type { Icon } from "../lib/icon.ts";
import CircleX from "../lib/icons/circle-x.ts";
import Lock from "../lib/icons/lock.ts";
import SearchX from "../lib/icons/search-x.ts";
import { Button } from "./button.tsx";
import { IdChip } from "./id-chip.tsx";
import styles from "./parts.module.css";

export { LoadingRows } from "./loading-rows.tsx";

interface EmptyStateProps {
  readonly icon: Icon;
  readonly title: string;
  readonly children?: ReactNode;
  /** The one next step. */
  readonly action?: ReactNode;
}

export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className={styles.state} data-state>
      <Icon size={28} strokeWidth={1.5} aria-hidden />
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action !== undefined && <div className={styles.actions}>{action}</div>}
    </div>
  );
}

/** Shows what to do about a condition. The frame gives it, because the catalogue of errors is a call of the API. */
export const RemedyContext = createContext<ComponentType<{ readonly condition: string }>>(() => null);

interface ErrorStateProps {
  readonly error: unknown;
  readonly onRetry: () => void;
  /** The object that was asked for, and its application: if it is gone, the audit log may say why. */
  readonly subject?: { readonly appid?: string; readonly id: string };
}

/** The roles that include the one that a refusal names. */
const rolesThatMay: Record<string, string> = { editor: "Editors and owners may.", owner: "Owners may." };

/** What failed, and what to do. */
export function ErrorState({ error, onRetry, subject }: ErrorStateProps) {
  const Remedy = useContext(RemedyContext);
  const refusal = error instanceof CallError ? error : undefined;
  const isDenied = refusal?.status === 403;
  const isGone = refusal?.status === 404;
  const Icon = isDenied ? Lock : isGone ? SearchX : CircleX;
  const title = isDenied
    ? "Your role does not allow this"
    : isGone
      ? "It is gone, or was never here"
      : "This did not work";
  return (
    <div className={styles.state} role="alert">
      <Icon size={28} strokeWidth={1.5} aria-hidden />
      <h2>{title}</h2>
      <p>
        {error instanceof Error ? error.message : String(error)}
        {isDenied && ` ${rolesThatMay[/role (\w+)\.$/.exec(refusal.message)?.[1] ?? ""] ?? ""}`}
      </p>
      {refusal?.number !== undefined && !isGone && <Remedy condition={refusal.condition} />}
      {refusal !== undefined && (
        <p className={styles.small}>
          {refusal.condition}
          {refusal.number !== undefined && ` ${refusal.number}`}
        </p>
      )}
      {isGone && subject !== undefined && (
        <p>
          <a
            href={`#${subject.appid === undefined ? "" : `/apps/${subject.appid}`}/audit?target=${encodeURIComponent(subject.id)}`}
          >
            Look for it in the audit log
          </a>
        </p>
      )}
      <div className={styles.actions}>
        {refusal?.requestId !== undefined && <IdChip id={refusal.requestId} />}
        <RetryButton seconds={refusal?.retryAfterSeconds ?? 0} onRetry={onRetry} />
      </div>
    </div>
  );
}

/** An address without a screen, or of an application that does not exist. */
export function NoSuchPage({ what = "page" }: { readonly what?: string }) {
  return (
    <EmptyState icon={SearchX} title={`No such ${what}`} action={<a href="#/apps">All applications</a>}>
      The address may be incomplete, or what it names was deleted.
    </EmptyState>
  );
}

const awayMs = 5_000;

/** A screen that could not be loaded. If the server was away, the screen is loaded once it is back. */
export function ScreenError({ error, onRetry }: Omit<ErrorStateProps, "subject">) {
  const isAway = error instanceof CallError && error.status === 0;
  useEffect(() => {
    if (!isAway) return;
    window.addEventListener("online", onRetry);
    const timer = window.setInterval(() => navigator.onLine && !document.hidden && onRetry(), awayMs);
    return () => {
      window.removeEventListener("online", onRetry);
      window.clearInterval(timer);
    };
  }, [isAway, onRetry]);
  return <ErrorState error={error} onRetry={onRetry} />;
}

function RetryButton({ seconds, onRetry }: { readonly seconds: number; readonly onRetry: () => void }) {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    if (left <= 0) return;
    const timer = window.setTimeout(() => setLeft(left - 1), 1000);
    return () => window.clearTimeout(timer);
  }, [left]);
  return (
    <Button onPress={onRetry} isDisabled={left > 0}>
      {left > 0 ? `Try again in ${left} s` : "Try again"}
    </Button>
  );
}

interface NoticeProps {
  readonly icon: Icon;
  readonly children: ReactNode;
  readonly action?: ReactNode;
  /** For problems that stop clients or put operators at risk. */
  readonly isWarning?: boolean;
}

/** A sentence above a page, with one button. */
export function Notice({ icon: Icon, children, action, isWarning = false }: NoticeProps) {
  return (
    <div className={styles["notice-box"]} data-warning={isWarning || undefined}>
      <Icon size={16} aria-hidden />
      <span>{children}</span>
      {action}
    </div>
  );
}
