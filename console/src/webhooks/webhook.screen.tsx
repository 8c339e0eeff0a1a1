import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { getWebhook, pauseWebhook, resumeWebhook, testWebhook, type Webhook, type WebhookTest } from "../api/admin.ts";
import { known, send } from "../api/send.ts";
import { useActs } from "../lib/acts.ts";
import { showInvisible } from "../lib/format.ts";
import CirclePause from "../lib/icons/circle-pause.ts";
import CirclePlay from "../lib/icons/circle-play.ts";
import Ellipsis from "../lib/icons/ellipsis.ts";
import Pencil from "../lib/icons/pencil.ts";
import RefreshCw from "../lib/icons/refresh-cw.ts";
import RotateCcwKey from "../lib/icons/rotate-ccw-key.ts";
import Send from "../lib/icons/send.ts";
import Trash from "../lib/icons/trash-2.ts";
import { useRole } from "../shell/session.ts";
import { TabLinks } from "../shell/tab.links.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Menu, type MenuAction } from "../ui/menu.tsx";
import { Page, Section, Sections } from "../ui/page.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { act, showError } from "../ui/toast.tsx";
import { Deliveries } from "./webhook.deliveries.tsx";
import { DeleteWebhook, RedeliverDead, RotateSecret, TestedWebhook } from "./webhook.dialogs.tsx";
import { EditWebhook, useRefreshWebhooks } from "./webhook.forms.tsx";
import { behindOf, nameOf, WebhookState } from "./webhook.words.tsx";

const dialogs = { edit: EditWebhook, rotate: RotateSecret, delete: DeleteWebhook, redeliver: RedeliverDead };

/** One webhook: its events, its position, and each delivery. */
const labels = { deliveries: "Deliveries", facts: "Facts" } as const;

export function WebhookScreen() {
  const { appid, webhookId } = useParams({ from: "/frame/apps/$appid/webhooks/$webhookId" });
  const { tab } = useSearch({ from: "/frame/apps/$appid/webhooks/$webhookId" });
  const [opened, setOpened] = useState<keyof typeof dialogs>();
  const isEditor = useRole("editor");
  const { data, error, refetch } = useQuery({
    queryKey: ["webhooks", appid, webhookId],
    queryFn: ({ signal }) => send(getWebhook(appid, webhookId), { signal }),
  });
  if (data === undefined) {
    return (
      <Page title="Webhook">
        {error === null ? (
          <LoadingRows />
        ) : (
          <ErrorState error={error} onRetry={() => void refetch()} subject={{ appid, id: webhookId }} />
        )}
      </Page>
    );
  }
  const Opened = opened === undefined ? undefined : dialogs[opened];
  const isFacts = tab === "facts";
  return (
    <Page
      title={nameOf(data)}
      beside={
        <>
          <WebhookState webhook={data} />
          <IdChip id={webhookId} />
        </>
      }
      isScrolling={isFacts}
      actions={isEditor && <WebhookActions appid={appid} webhook={data} onOpen={setOpened} />}
    >
      <TabLinks
        label="Parts of the webhook"
        from="/apps/$appid/webhooks/$webhookId"
        labels={labels}
        current={tab ?? "deliveries"}
      />
      {isFacts ? <Facts webhook={data} /> : <Deliveries appid={appid} webhookId={webhookId} />}
      {Opened !== undefined && <Opened appid={appid} webhook={data} onClose={() => setOpened(undefined)} />}
    </Page>
  );
}

interface ActionsProps {
  readonly appid: string;
  readonly webhook: Webhook;
  readonly onOpen: (dialog: keyof typeof dialogs) => void;
}

function WebhookActions({ appid, webhook, onOpen }: ActionsProps) {
  const { id, state } = webhook;
  const refresh = useRefreshWebhooks(appid);
  const [isTesting, setTesting] = useState(false);
  const [tested, setTested] = useState<WebhookTest>();
  const test = async () => {
    setTesting(true);
    await send(testWebhook(appid, id)).then(setTested, showError);
    setTesting(false);
  };
  const pause = async () => {
    await send(pauseWebhook(appid, id));
    await refresh();
  };
  const resume = (from: "stopped" | "now") => async () => {
    await send(resumeWebhook(appid, id, { from }));
    await refresh();
  };
  const more: MenuAction[] = [
    { label: "Edit …", icon: Pencil, run: () => onOpen("edit") },
    ...(state === "active"
      ? []
      : [
          {
            label: "Resume with new events",
            icon: CirclePlay,
            run: () => void act("Resumed: it sends the events that come from now on.", resume("now")),
          },
        ]),
    { label: "Send dead deliveries again …", icon: RefreshCw, run: () => onOpen("redeliver") },
    { label: "Rotate the secret …", icon: RotateCcwKey, run: () => onOpen("rotate") },
    { label: "Delete …", icon: Trash, isDanger: true, run: () => onOpen("delete") },
  ];
  const first =
    state === "active"
      ? { label: "Pause", icon: CirclePause, run: () => void act("Paused the webhook.", pause, resume("stopped")) }
      : {
          label: "Resume",
          icon: CirclePlay,
          run: () => void act("Resumed where it stopped.", resume("stopped"), pause),
        };
  useActs(nameOf(webhook), [{ label: "Test", icon: Send, run: () => void test() }, first, ...more]);
  return (
    <>
      <Button isPending={isTesting} onPress={() => void test()}>
        <Send size={16} aria-hidden /> Test
      </Button>
      <Button onPress={first.run}>
        <first.icon size={16} aria-hidden /> {first.label}
      </Button>
      <Menu label="Actions" items={more}>
        <IconButton label="More actions" kind="plain">
          <Ellipsis size={16} aria-hidden />
        </IconButton>
      </Menu>
      {tested !== undefined && <TestedWebhook test={tested} onClose={() => setTested(undefined)} />}
    </>
  );
}

const formats = { standard: "application/json", cloudevents: "application/cloudevents+json" };

function Facts({ webhook }: { readonly webhook: Webhook }) {
  const { url, types, format, headers, concurrency, timeoutMs, perSecond, trueLocations, secrets, behind } = webhook;
  const { lastSuccess, lastFailure, created, lastModified } = webhook;
  return (
    <Sections>
      <Section title="Delivery">
        <DetailList
          items={[
            ["Behind", `${behindOf(webhook)} events`],
            ["Oldest of them", behind.since && <Time key="since" value={behind.since} isExact />],
            ["Last success", lastSuccess && <Time key="success" value={lastSuccess} isExact />],
            ["Last failure", lastFailure && <Time key="failure" value={lastFailure} isExact />],
          ]}
        />
      </Section>
      <Section title="What is sent">
        <DetailList
          items={[
            ["URL", showInvisible(url)],
            ["Events", showInvisible(types.join(", "))],
            ["Content-Type", formats[known(format)]],
            ["Headers", headers.length === 0 ? undefined : showInvisible(headers.join(", "))],
            ["Locations", trueLocations ? "True ones" : "As other users see them"],
            ["Pace", `${concurrency} at a time, ${perSecond} a second, ${timeoutMs} ms each at most`],
          ]}
        />
      </Section>
      <Section title="Secrets">
        <DetailList
          items={[
            ...secrets.map(
              ({ created: made, ends }, index) =>
                [
                  index === 0 ? "Current" : "Former",
                  <span key={made.getTime()}>
                    created <Time value={made} />
                    {ends !== undefined && (
                      <>
                        , signs until <Time value={ends} isExact />
                      </>
                    )}
                  </span>,
                ] as const,
            ),
          ]}
        />
      </Section>
      <Section title="Webhook">
        <DetailList
          items={[
            ["Created", <Time key="created" value={created} isExact />],
            ["Changed", <Time key="changed" value={lastModified} isExact />],
          ]}
        />
      </Section>
    </Sections>
  );
}
