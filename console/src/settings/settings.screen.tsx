import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import type { Versioned } from "../api/call.ts";
import { getEffectiveSettings, getSettings, type Settings } from "../api/settings.ts";
import { useRole } from "../shell/session.ts";
import { Page, tabClass, tabsClass } from "../ui/page.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { SettingsForm } from "./settings.form.tsx";
import styles from "./settings.module.css";
import { parts } from "./settings.parts.ts";
import { PeakOfDay, TestMail, TestProviders } from "./settings.tests.tsx";

/** The settings of an application, in parts that are saved one by one. */
export function SettingsScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/settings" });
  const { part: wanted } = useSearch({ from: "/frame/apps/$appid/settings" });
  const isEditor = useRole("editor");
  const queries = useQueryClient();
  const queryKey = ["settings", appid];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => getSettings({ appid }, { signal }),
    // What an operator is typing must not be replaced by what another one saved.
    refetchOnWindowFocus: false,
  });
  const effective = useQuery({
    queryKey: ["settings-effective", appid],
    queryFn: ({ signal }) => getEffectiveSettings({ appid }, { signal }),
  });
  const part = parts.find(({ id }) => id === wanted) ?? parts[0];

  function take(stored: Versioned<Settings>) {
    queries.setQueryData(queryKey, stored);
    void effective.refetch();
  }

  return (
    <Page title="Settings">
      <nav className={tabsClass} aria-label="Parts of the settings">
        {parts.map(({ id, title }) => (
          <Link
            key={id}
            to="/apps/$appid/settings"
            params={{ appid }}
            search={{ part: id }}
            className={tabClass}
            aria-current={id === part?.id ? "page" : undefined}
          >
            {title}
          </Link>
        ))}
      </nav>
      <div className={styles.body}>
        {data === undefined || part === undefined ? (
          error === null ? (
            <LoadingRows />
          ) : (
            <ErrorState error={error} onRetry={() => void refetch()} />
          )
        ) : (
          <>
            <SettingsForm
              key={part.id}
              appid={appid}
              part={part}
              stored={data}
              effective={effective.data}
              note={part.id === "limits" && <PeakOfDay appid={appid} />}
              isEditor={isEditor}
              onStored={take}
            />
            {isEditor && part.id === "mail" && <TestMail appid={appid} />}
            {isEditor && part.id === "sign-in" && <TestProviders appid={appid} oidc={data.value.oidc} />}
          </>
        )}
      </div>
    </Page>
  );
}
