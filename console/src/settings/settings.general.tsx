import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { getApplication } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import { type OpenedApplication, useResumption } from "../shell/application.acts.tsx";
import { ApplicationDialog } from "../shell/application.dialogs.tsx";
import { ApplicationState } from "../shell/application.state.tsx";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Section } from "../ui/page.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./settings.module.css";

/** The properties of an application, and the actions on it. */
export function GeneralSettings({ appid }: { readonly appid: string }) {
  const navigate = useNavigate();
  const [isEditor, isOwner] = [useRole("editor"), useRole("owner")];
  const [opened, setOpened] = useState<OpenedApplication["dialog"]>();
  const resume = useResumption();
  const { data, error, refetch } = useQuery({
    queryKey: ["application", appid],
    queryFn: ({ signal }) => send(getApplication(appid), { signal }),
  });
  // If a refetch fails, the page stays, with an open dialog and its input.
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <LoadingRows />;
  const { name, created, suspended, movingTo } = data;
  const isChangeable = movingTo === undefined; // a moving one refuses every change
  const close = () => setOpened(undefined);
  return (
    <>
      <Section title="General">
        <DetailList
          items={[
            ["Name", showInvisible(name)],
            ["Id", <IdChip key="id" id={appid} />],
            ["State", <ApplicationState key="state" application={data} />],
            ...(suspended === undefined ? [] : [["Suspended", <Time key="at" value={suspended} isExact />] as const]),
            ["Created", <Time key="created" value={created} isExact />],
          ]}
        />
        {isEditor && isChangeable && (
          <div className={styles.buttons}>
            <Button onPress={() => setOpened("rename")}>Rename …</Button>
          </div>
        )}
      </Section>
      {isEditor && isChangeable && (
        <Section
          title={suspended === undefined ? "Suspend" : "Resume"}
          lead={
            suspended === undefined
              ? "All calls of its clients are refused until it is resumed. Nothing is lost, and operators see everything."
              : "Its clients can call again at once, with the tokens that they have."
          }
        >
          <div className={styles.buttons}>
            {suspended === undefined ? (
              <Button kind="danger" onPress={() => setOpened("suspend")}>
                Suspend …
              </Button>
            ) : (
              <Button onPress={() => void resume(data)}>Resume</Button>
            )}
          </div>
        </Section>
      )}
      {isOwner && isChangeable && (
        <Section title="Delete" lead="The application goes with everything that it holds, and cannot be brought back.">
          <div className={styles.buttons}>
            <Button kind="danger" onPress={() => setOpened("delete")}>
              Delete …
            </Button>
          </div>
        </Section>
      )}
      {opened !== undefined && (
        <ApplicationDialog
          opened={{ dialog: opened, application: data }}
          onDeleted={() => void navigate({ to: "/apps" })}
          onClose={close}
        />
      )}
    </>
  );
}
