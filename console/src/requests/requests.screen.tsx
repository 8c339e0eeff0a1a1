import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTail } from "../api/requests.ts";
import CirclePause from "../lib/icons/circle-pause.ts";
import CirclePlay from "../lib/icons/circle-play.ts";
import Radio from "../lib/icons/radio.ts";
import { serviceRoot } from "../lib/service-root.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { CallList } from "../shell/call.list.tsx";
import styles from "../shell/calls.module.css";
import { Clock } from "../shell/calls.parts.tsx";
import { Button } from "../ui/button.tsx";
import { type Filter, FilterChips, type FilterValues } from "../ui/filter-chips.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Page } from "../ui/page.tsx";
import { Snippet } from "../ui/snippet.tsx";
import { EmptyState } from "../ui/states.tsx";

const filters: readonly Filter[] = [
  {
    name: "status",
    label: "Status",
    options: [
      { value: "2xx", label: "2xx, done" },
      { value: "4xx", label: "4xx, refused" },
      { value: "5xx", label: "5xx, failed" },
    ],
  },
  { name: "operation", label: "Operation", placeholder: "createCheckin" },
  { name: "error", label: "Error", placeholder: "ParameterOutOfRange" },
  { name: "userID", label: "User", placeholder: "usr_…" },
  { name: "deviceID", label: "Device", placeholder: "dev_…" },
  { name: "address", label: "Address", placeholder: "192.0.2.1" },
  { name: "slowerThanMs", label: "Slower than, ms", placeholder: "250" },
  { name: "requestId", label: "Request", placeholder: "request_id of an answer" },
  { name: "refused", label: "Refused or failed", options: [{ value: "true", label: "only" }] },
];

/** The last calls of an application and, until it is paused, each new one. */
export function RequestsScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/requests" });
  const { panel, ...search } = useSearch({ from: "/frame/apps/$appid/requests" });
  const navigate = useNavigate({ from: "/apps/$appid/requests" });
  const [isPaused, setPaused] = useState(false);
  const tail = useTail(appid, search, !isPaused);
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  useShortcuts([{ keys: "p", label: isPaused ? "Follow again" : "Pause", run: () => setPaused(!isPaused) }]);

  function show(next: FilterValues, replace: boolean) {
    if (next.panel !== undefined) setPaused(true);
    void navigate({ search: next, replace });
  }

  const chips = { filters, values: search, onChange: (values: FilterValues) => show(values, false) };
  return (
    <Page
      title="Requests"
      isScrolling={false}
      beside={<Liveness isPaused={isPaused} hasFailed={tail.error !== null} />}
      actions={
        <Button onPress={() => setPaused(!isPaused)}>
          {isPaused ? <CirclePlay size={16} aria-hidden /> : <CirclePause size={16} aria-hidden />}
          {isPaused ? "Follow" : "Pause"}
        </Button>
      }
    >
      <FilterChips {...chips} />
      <CallList
        appid={appid}
        tail={tail}
        panel={panel}
        onPanel={(id) => show({ ...search, panel: id }, panel !== undefined)}
        onFilter={(values) => show({ ...search, ...values }, false)}
        onReading={() => setPaused(true)}
        empty={isFiltered ? <NothingFound {...chips} /> : <NoCalls appid={appid} since={tail.data?.since} />}
      />
    </Page>
  );
}

function Liveness({ isPaused, hasFailed }: { readonly isPaused: boolean; readonly hasFailed: boolean }) {
  const text = isPaused ? "Paused" : hasFailed ? "Trying again" : "Live";
  return (
    <span className={styles.live} data-on={(!isPaused && !hasFailed) || undefined} role="status">
      {text}
    </span>
  );
}

function NoCalls({ appid, since }: { readonly appid: string; readonly since: Date | undefined }) {
  const body = JSON.stringify({ appid, appkey: "<key>", platform: "test" });
  return (
    <EmptyState
      icon={Radio}
      title={since === undefined ? "No calls yet" : "No calls since the server started to listen"}
      action={<Snippet text={`curl ${serviceRoot()}/devices -H 'Content-Type: application/json' \\\n  -d '${body}'`} />}
    >
      {since !== undefined && (
        <>
          It listens since <Clock value={since} />; a restart empties the list.{" "}
        </>
      )}
      Calls of apps appear here within a second. A first one registers a device:
    </EmptyState>
  );
}
