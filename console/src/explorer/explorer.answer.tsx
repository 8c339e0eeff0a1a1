import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { formatClock, formatMs, showInvisible } from "../lib/format.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Snippet } from "../ui/snippet.tsx";
import type { AppCall } from "./explorer.calls.ts";
import type { Sent } from "./explorer.history.ts";
import { Method } from "./explorer.list.tsx";
import styles from "./explorer.module.css";
import { curlOf, fetchOf } from "./explorer.snippets.ts";

/** Longer responses would slow down the page. */
const charactersMax = 100_000;

export function Answer({ appid, sent: { answer } }: { readonly appid: string; readonly sent: Sent }) {
  const { status, ms, headers, text, requestId } = answer;
  const shown = showLines(text);
  return (
    <section ref={scrollTo} className={styles.answer} aria-label="Answer" aria-live="polite">
      <div className={styles.head}>
        <b data-class={Math.floor(status / 100)}>{status === 0 ? "No answer" : status}</b>
        <span className={styles.muted}>{formatMs(ms)}</span>
        {requestId !== undefined && (
          <Link to="/apps/$appid/requests" params={{ appid }} search={{ requestId }}>
            In the requests
          </Link>
        )}
        <span className={styles.copy}>
          <CopyButton text={text} label="Copy the answer" />
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and needs the focus for that */}
      <pre tabIndex={0}>
        {shown.slice(0, charactersMax)}
        {shown.length > charactersMax && "\n…"}
      </pre>
      {headers.length > 0 && (
        <details className={styles.more}>
          <summary>{headers.length} headers</summary>
          <dl>
            {headers.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{showInvisible(value)}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </section>
  );
}

/** The button that sent the call may be far below. */
function scrollTo(section: HTMLElement | null): void {
  section?.scrollIntoView({ block: "nearest" });
}

/** JSON line by line, with visible escapes for invisible characters. */
function showLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2).split("\n").map(showInvisible).join("\n");
  } catch {
    return text.split("\n").map(showInvisible).join("\n");
  }
}

const languages = ["curl", "fetch", "SDK"] as const;

interface SameCallProps {
  readonly call: AppCall;
  /** With the client library, which has the token itself. */
  readonly sdk: string;
}

/** The call that would be sent, for a shell or in JavaScript. */
export function SameCall({ call, sdk }: SameCallProps) {
  const [language, setLanguage] = useState<(typeof languages)[number]>("curl");
  const written = { curl: curlOf, fetch: fetchOf, SDK: () => sdk }[language](call);
  return (
    <section className={styles.same}>
      <h3>The same call</h3>
      <div className={styles.languages} role="group" aria-label="Language">
        {languages.map((each) => (
          <button key={each} type="button" aria-pressed={each === language} onClick={() => setLanguage(each)}>
            {each}
          </button>
        ))}
      </div>
      <Snippet text={written} />
    </section>
  );
}

interface HistoryProps {
  readonly history: readonly Sent[];
  readonly shownId: number | undefined;
  readonly onShow: (sent: Sent) => void;
}

/** The calls that this tab has sent, newest first. */
export function History({ history, shownId, onShow }: HistoryProps) {
  return (
    <details className={styles.more}>
      <summary>{history.length === 1 ? "One call was sent" : `${history.length} calls were sent`}</summary>
      <ol className={styles.history}>
        {history.map((sent) => (
          <li key={sent.id}>
            <button type="button" aria-pressed={sent.id === shownId} onClick={() => onShow(sent)}>
              <span>{formatClock(sent.at)}</span>
              <b>{sent.answer.status === 0 ? "–" : sent.answer.status}</b>
              <Method name={sent.call.method} />
              <span className={styles.path}>{sent.call.path}</span>
            </button>
          </li>
        ))}
      </ol>
    </details>
  );
}
