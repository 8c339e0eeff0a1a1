import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { type ApplicationSettings, getApplicationSettings } from "../api/admin.ts";
import { effectiveSettingsQuery } from "../api/queries.ts";
import { sendVersioned, type Versioned } from "../api/send.ts";
import { useRole } from "../shell/session.ts";
import { Page, Tabs, tabClass } from "../ui/page.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { SettingsForm } from "./settings.form.tsx";
import { GeneralSettings } from "./settings.general.tsx";
import { SettingsJson } from "./settings.json.tsx";
import styles from "./settings.module.css";
import { parts } from "./settings.parts.ts";
import { TestMail, TestProviders } from "./settings.tests.tsx";

const general = { id: "general", title: "General" };
const json = { id: "json", title: "All as JSON" };

/** The settings of an application, in parts that are saved one by one. */
export function SettingsScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/settings" });
  const { part: wanted } = useSearch({ from: "/frame/apps/$appid/settings" });
  const isEditor = useRole("editor");
  const queries = useQueryClient();
  const queryKey = ["settings", appid];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => sendVersioned(getApplicationSettings(appid), { signal }),
    // An operator's unsaved input must not be replaced by values that another one saved.
    refetchOnWindowFocus: false,
  });
  const effective = useQuery(effectiveSettingsQuery(appid));
  const part = parts.find(({ id }) => id === wanted);
  const tabs = [general, ...parts, json];
  const tab = tabs.find(({ id }) => id === wanted) ?? general;

  function take(stored: Versioned<ApplicationSettings>) {
    queries.setQueryData(queryKey, stored);
    void effective.refetch();
  }

  return (
    <Page title="Settings">
      <div className={styles.settings}>
        <Tabs label="Parts of the settings" isBeside>
          {tabs.map(({ id, title }) => (
            <Link
              key={id}
              to="/apps/$appid/settings"
              params={{ appid }}
              search={{ part: id }}
              className={tabClass}
              aria-current={id === tab.id ? "page" : undefined}
            >
              {title}
            </Link>
          ))}
        </Tabs>
        <div className={styles.body}>
          {tab === general && <GeneralSettings appid={appid} />}
          {tab !== general && data === undefined && error === null && <LoadingRows />}
          {tab !== general && data === undefined && error !== null && (
            <ErrorState error={error} onRetry={() => void refetch()} subject={{ id: appid }} />
          )}
          {tab === json && data !== undefined && (
            <SettingsJson appid={appid} stored={data} isEditor={isEditor} onStored={take} />
          )}
          {part !== undefined && data !== undefined && (
            <>
              <SettingsForm
                key={part.id}
                appid={appid}
                part={part}
                stored={data}
                effective={effective.data}
                isEditor={isEditor}
                onStored={take}
              />
              {isEditor && part.id === "mail" && <TestMail appid={appid} />}
              {isEditor && part.id === "sign-in" && <TestProviders appid={appid} oidc={data.value.oidc} />}
            </>
          )}
        </div>
      </div>
    </Page>
  );
}
