import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { type AnsweredRequest, createApplicationKey, type OperatedDevice } from "../api/admin.ts";
import { idOfCall, useTail } from "../api/requests.ts";
import { send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import CircleCheckBig from "../lib/icons/circle-check-big.ts";
import CircleDashed from "../lib/icons/circle-dashed.ts";
import FlaskConical from "../lib/icons/flask-conical.ts";
import KeyRound from "../lib/icons/key-round.ts";
import { explainLoss } from "../lib/lost-answer.ts";
import { useNewKey } from "../lib/new-keys.ts";
import { useRole } from "../shell/session.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Page, Tabs, tabClass } from "../ui/page.tsx";
import { Snippet } from "../ui/snippet.tsx";
import { Time } from "../ui/time.tsx";
import { showError } from "../ui/toast.tsx";
import styles from "./start.module.css";
import { programs } from "./start.programs.ts";
import { useArrivedKinds, useFirstDevice } from "./start.progress.ts";
import { type Step, shellSteps } from "./start.snippets.ts";

const placeholder = "YOUR_KEY";
const followMs = 2000;

/**
 * The steps from a new application to the first calls of an app: runnable snippets, and a list that marks completed
 * steps.
 */
export function StartScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/start" });
  const { with: language } = useSearch({ from: "/frame/apps/$appid/start" });
  const program = programs.find(({ id }) => id === language);
  const isEditor = useRole("editor"); // viewers make no test callers
  const [appkey, setKey] = useNewKey(appid);
  const kinds = useArrivedKinds(appid);
  const [isDone, setDone] = useState(false);
  const tail = useTail(appid, {}, !isDone, followMs);
  const calls = tail.data?.calls ?? [];
  const arrivals = shellSteps.map((step): Arrival => {
    const call = calls.findLast(({ operation, status }) => operation === step.operation && status < 300);
    const isKept = step.leaves !== undefined && kinds.data?.has(step.leaves) === true;
    return { step, call, isDone: call !== undefined || isKept };
  });
  const areAllDone = arrivals.every((arrival) => arrival.isDone);
  if (areAllDone !== isDone) setDone(areAllDone);

  return (
    <Page title="Start">
      <div className={styles.columns}>
        <div className={styles.steps}>
          <Key appid={appid} appkey={appkey} onKey={setKey} />
          <Tabs label="Language">
            <Link
              to="."
              search={{}}
              replace
              className={tabClass}
              activeOptions={{ exact: true }}
              aria-current={program === undefined && "page"}
            >
              Shell
            </Link>
            {programs.map(({ id, language }) => (
              <Link
                key={id}
                to="."
                search={{ with: id }}
                replace
                className={tabClass}
                activeOptions={{ exact: true }}
                aria-current={id === program?.id && "page"}
              >
                {language}
              </Link>
            ))}
          </Tabs>
          {program === undefined ? (
            <>
              <div className={styles.all}>
                <CopyButton
                  text={shellSteps.map((step) => step.text(appid, appkey ?? placeholder)).join("\n\n")}
                  label="Copy all steps"
                />
                <span aria-hidden>Copy all steps</span>
              </div>
              <ol className={styles.list}>
                {arrivals.map(({ step, isDone }, index) => (
                  <li key={step.operation} data-done={isDone || undefined}>
                    <span className={styles.number} aria-hidden>
                      {isDone ? <CircleCheckBig size={20} /> : index + 1}
                    </span>
                    <h2>{step.title}</h2>
                    <p>{step.lead}</p>
                    <Snippet text={step.text(appid, appkey ?? placeholder)} />
                    {isEditor && <TryStep appid={appid} step={step} />}
                  </li>
                ))}
              </ol>
            </>
          ) : (
            <div className={styles.client}>
              <p>{program.lead}</p>
              <Snippet text={program.text(appid, appkey ?? placeholder)} />
            </div>
          )}
        </div>
        <Arrivals appid={appid} arrivals={arrivals} refused={calls.filter(({ status }) => status >= 400)} />
      </div>
    </Page>
  );
}

/** A link to the call in the explorer. Opens a new tab, because this page shows the key only until it is closed. */
function TryStep({ appid, step: { operation, title, example } }: { readonly appid: string; readonly step: Step }) {
  const { path, body } = example;
  return (
    <Link
      to="/apps/$appid/explorer"
      params={{ appid }}
      search={{ operation, path, body: body && JSON.stringify(body, undefined, 2) }}
      target="_blank"
      className={styles.try}
      aria-label={`Try it in the explorer: ${title}`}
    >
      <FlaskConical size={14} aria-hidden /> Try it in the explorer
    </Link>
  );
}

interface KeyProps {
  readonly appid: string;
  readonly appkey: string | undefined;
  readonly onKey: (key: string) => void;
}

/** The credentials with which an app registers. A key is shown while the page on which it was created is open. */
function Key({ appid, appkey, onKey }: KeyProps) {
  const isEditor = useRole("editor");
  const [isPending, setPending] = useState(false);

  async function make() {
    setPending(true);
    try {
      const remedy = "The key may exist all the same: see the list of keys, and retire it.";
      onKey((await explainLoss(() => send(createApplicationKey(appid, { label: "Start" })), remedy)).appkey);
    } catch (error) {
      showError(error);
    }
    setPending(false);
  }

  return (
    <div className={styles.key}>
      <DetailList
        items={[
          ["Application", <IdChip key="id" id={appid} />],
          [
            "Key",
            appkey === undefined ? (
              <span key="placeholder">
                Shown when it is made. Put yours in place of <code>{placeholder}</code>
                {isEditor && ", or make another one."}
              </span>
            ) : (
              <span key="key" className={styles.secret}>
                <code>{appkey}</code>
                <CopyButton text={appkey} label="Copy the key" />
              </span>
            ),
          ],
        ]}
      />
      {appkey !== undefined && <p>Keep it with the app. It is shown until you leave this page, and never again.</p>}
      {appkey === undefined && isEditor && (
        <Button onPress={() => void make()} isDisabled={isPending}>
          <KeyRound size={16} aria-hidden /> Make a key
        </Button>
      )}
    </div>
  );
}

interface Arrival {
  readonly step: Step;
  /** The call of the step, if this server remembers it. */
  readonly call: AnsweredRequest | undefined;
  readonly isDone: boolean;
}

interface ArrivalsProps {
  readonly appid: string;
  readonly arrivals: readonly Arrival[];
  readonly refused: readonly AnsweredRequest[];
}

const refusedShown = 3;

function Arrivals({ appid, arrivals, refused }: ArrivalsProps) {
  const areAllDone = arrivals.every(({ isDone }) => isDone);
  const device = useFirstDevice(
    appid,
    arrivals.some(({ step, isDone }) => isDone && step.leaves === "devices"),
  );
  return (
    <aside className={styles.arrivals} aria-label="What has arrived">
      <h2>{areAllDone ? "Your app is talking" : "What has arrived"}</h2>
      <div role="status">
        <ul className={styles.ticks}>
          {arrivals.map(({ step, call, isDone }) => (
            <li key={step.operation} data-done={isDone || undefined}>
              {isDone ? <CircleCheckBig size={18} aria-hidden /> : <CircleDashed size={18} aria-hidden />}
              <span>
                {step.arrived}
                {step.leaves === "devices" && device !== undefined && <small>{describe(device)}</small>}
              </span>
              <span className={styles.when}>
                {call !== undefined ? <Time value={call.time} /> : isDone ? "here" : "waiting"}
              </span>
            </li>
          ))}
        </ul>
      </div>
      {!areAllDone && refused.length > 0 && (
        <div className={styles.refused}>
          <h3>Refused meanwhile</h3>
          <ul>
            {refused.slice(0, refusedShown).map((call) => (
              <li key={idOfCall(call)}>
                <Link to="/apps/$appid/requests" params={{ appid }} search={{ panel: idOfCall(call) }}>
                  {call.operation ?? showInvisible(call.path ?? "A call")}
                </Link>{" "}
                {showInvisible(call.message ?? call.error ?? "")}
              </li>
            ))}
          </ul>
        </div>
      )}
      {areAllDone ? (
        <Next appid={appid} />
      ) : (
        <p>Paste the snippets into one shell. Each step is ticked within seconds of its first call.</p>
      )}
    </aside>
  );
}

function describe({ platform, appVersion }: OperatedDevice): string {
  return showInvisible(appVersion === undefined ? platform : `${platform} ${appVersion}`);
}

function Next({ appid }: { readonly appid: string }) {
  const navigate = useNavigate();
  return (
    <div className={styles.next}>
      <p>From here on, an app does the same.</p>
      <Button kind="primary" onPress={() => void navigate({ to: "/apps/$appid/users", params: { appid } })}>
        See the user
      </Button>
      <Link to="/apps/$appid/requests" params={{ appid }} className={buttonClass("plain", "regular")}>
        See the calls
      </Link>
    </div>
  );
}
