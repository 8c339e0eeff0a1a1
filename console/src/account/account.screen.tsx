import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ListedOperatorSession } from "../api/admin.ts";
import { known, send } from "../api/send.ts";
import { endOperatorSession, endOperatorSessions, listOperatorSessions } from "../api/sessions.ts";
import { showInvisible } from "../lib/format.ts";
import Monitor from "../lib/icons/monitor.ts";
import { changePreferences, usePreferences } from "../lib/preferences.ts";
import { PasswordForm } from "../shell/password.form.tsx";
import { roleTexts } from "../shell/roles.ts";
import { useSession } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { Checkbox, SelectField } from "../ui/fields.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Page, Section } from "../ui/page.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { act } from "../ui/toast.tsx";
import styles from "./account.module.css";

export function AccountScreen() {
  const { operator } = useSession();
  return (
    <Page title="Account">
      <Section title={showInvisible(operator.name)}>
        <DetailList
          items={[
            ["Role", roleTexts[known(operator.role)]],
            ["Id", <IdChip key="id" id={operator.id} />],
            ["Member since", <Time key="created" value={operator.created} isExact />],
          ]}
        />
      </Section>
      <Section title="This browser" lead="These choices stay in this browser.">
        <Choices />
      </Section>
      <Section title="Password" lead="A new password ends your other sessions.">
        <div className={styles.narrow}>
          <PasswordForm />
        </div>
      </Section>
      <Section title="Sessions" lead="Each browser and each program that is signed in as you.">
        <Sessions />
      </Section>
    </Page>
  );
}

function Choices() {
  const { theme, density, timeZone, hasSingleKeys } = usePreferences();
  return (
    <div className={styles.choices}>
      <SelectField
        label="Theme"
        value={theme}
        options={[
          { value: "system", label: "As the system" },
          { value: "light", label: "Light" },
          { value: "dark", label: "Dark" },
        ]}
        onChange={(chosen) => changePreferences({ theme: chosen })}
      />
      <SelectField
        label="Rows of lists"
        value={density}
        options={[
          { value: "regular", label: "Regular" },
          { value: "compact", label: "Compact" },
        ]}
        onChange={(chosen) => changePreferences({ density: chosen })}
      />
      <SelectField
        label="Times"
        value={timeZone}
        options={[
          { value: "local", label: "Local" },
          { value: "utc", label: "UTC" },
        ]}
        onChange={(chosen) => changePreferences({ timeZone: chosen })}
      />
      <div className={styles.wide}>
        <Checkbox isSelected={hasSingleKeys} onChange={(chosen) => changePreferences({ hasSingleKeys: chosen })}>
          Shortcuts of a single key, such as <kbd>/</kbd> for the filter
        </Checkbox>
      </div>
    </div>
  );
}

function Sessions() {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["sessions", "own"],
    queryFn: ({ signal }) => send(listOperatorSessions({ pageSize: 100 }), { signal }),
  });
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <LoadingRows />;
  const refresh = () => queries.invalidateQueries({ queryKey: ["sessions"] });
  const others = data.pageResults.filter(({ current }) => !current);
  return (
    <>
      <ul className={styles.sessions}>
        {data.pageResults.map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            onEnd={() => act("Ended the session.", () => send(endOperatorSession(session.id)).then(refresh))}
          />
        ))}
      </ul>
      {others.length > 1 && (
        <div>
          <Button
            onPress={() => void act("Ended your other sessions.", () => send(endOperatorSessions()).then(refresh))}
          >
            End all others
          </Button>
        </div>
      )}
    </>
  );
}

interface SessionRowProps {
  readonly session: ListedOperatorSession;
  readonly onEnd: () => Promise<void>;
}

function SessionRow({ session: { browser, address, isCookie, lastUsed, current }, onEnd }: SessionRowProps) {
  return (
    <li>
      <Monitor size={18} aria-hidden />
      <span>
        <b>{browser === "" ? "Unknown program" : showInvisible(browser)}</b>
        {!isCookie && " with a token"}
        <small>
          {address === "" ? "unknown address" : address} · used <Time value={lastUsed} />
        </small>
      </span>
      {current ? (
        <Status kind="good">This one</Status>
      ) : (
        <Button size="small" onPress={() => void onEnd()}>
          End
        </Button>
      )}
    </li>
  );
}
