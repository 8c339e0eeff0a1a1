import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { getApplicationSettings } from "../api/admin.ts";
import { sendVersioned } from "../api/send.ts";
import { serviceRoot } from "../lib/service-root.ts";
import { useRehearsalSwitch } from "../shell/application.acts.tsx";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { Page, Section } from "../ui/page.tsx";
import { Snippet } from "../ui/snippet.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { Status } from "../ui/status.tsx";
import styles from "./rehearsals.module.css";

/** Whether the clients of an application may rehearse failures, and how they request them. */
export function RehearsalsScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/rehearsals" });
  const isEditor = useRole("editor");
  const { data, error, refetch } = useQuery({
    queryKey: ["settings", appid],
    queryFn: ({ signal }) => sendVersioned(getApplicationSettings(appid), { signal }),
  });
  const isOn = data?.value.rehearsal === "on";
  const change = useRehearsalSwitch(appid)(isOn);
  return (
    <Page
      title="Rehearsals"
      beside={data !== undefined && <Status kind={isOn ? "warning" : "neutral"}>{isOn ? "On" : "Off"}</Status>}
      actions={
        isEditor &&
        data !== undefined && (
          <Button kind={isOn ? "plain" : "primary"} onPress={change.run}>
            {change.icon !== undefined && <change.icon size={16} aria-hidden />} {isOn ? "Switch off" : "Switch on"}
          </Button>
        )
      }
    >
      {data === undefined && error === null && <LoadingRows />}
      {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <Explanation appid={appid} />}
    </Page>
  );
}

const faults = [
  ["ItemDoesNotExist", "the error of this name, as the service answers it; each that the operation declares"],
  ["RateLimitExceeded;retry-after=30", "an error with status 429 or 503, and when to try again"],
  ["slow;ms=5000", "the ordinary answer, after up to 30 seconds"],
  ["cut", "no answer: the connection ends"],
  ["truncated", "half of an answer, then the connection ends"],
  ["html", "the page of a proxy, with status 200"],
] as const;

function Explanation({ appid }: { readonly appid: string }) {
  const call = `curl ${serviceRoot()}/checkins -H "Authorization: Service $TOKEN"`;
  return (
    <>
      <Section
        title="What does the app do when the service fails?"
        lead="While rehearsal is on, a test of the app asks for a failure with one header on the call that is to fail. Calls without the header are answered as ever. Any client can ask, so switch it off when the tests have run."
      >
        <Snippet text={`${call} \\\n  -H 'Rollcall-Rehearse: ItemDoesNotExist'`} />
        <p className={styles.muted}>
          Rehearsed calls are marked in the{" "}
          <Link to="/apps/$appid/requests" params={{ appid }}>
            requests
          </Link>
          , and count in no statistics. The{" "}
          <Link to="/apps/$appid/explorer" params={{ appid }}>
            explorer
          </Link>{" "}
          offers each failure of an operation.
        </p>
      </Section>
      <Section title="What the header can say">
        <dl className={styles.faults}>
          {faults.map(([header, meaning]) => (
            <div key={header}>
              <dt>
                <code>{header}</code>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <p>
          <code>;at=after</code> does the call first, and then answers with the failure: does the app do it twice?
        </p>
        <Snippet text={`${call} \\\n  -H 'Rollcall-Rehearse: ServiceUnavailable;at=after'`} />
      </Section>
    </>
  );
}
