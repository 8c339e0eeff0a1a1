import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { listWebhooks, type Webhook } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import Plus from "../lib/icons/plus.ts";
import WebhookIcon from "../lib/icons/webhook.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { Page, Split } from "../ui/page.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { AddWebhook } from "./webhook.forms.tsx";
import { behindOf, nameOf, WebhookState } from "./webhook.words.tsx";

const columns: readonly Column<Webhook>[] = [
  { name: "Webhook", width: "minmax(180px, 3fr)", narrow: "title", render: nameOf },
  {
    name: "State",
    width: "minmax(150px, 1fr)",
    narrow: "end",
    render: (webhook) => <WebhookState webhook={webhook} />,
  },
  {
    name: "Events",
    width: "minmax(130px, 2fr)",
    render: ({ types }) => showInvisible(types.join(", ")),
  },
  {
    name: "Waiting and events",
    width: "0",
    narrow: "line",
    isNarrowOnly: true,
    render: (webhook) => `${behindOf(webhook)} behind · ${showInvisible(webhook.types.join(", "))}`,
  },
  { name: "Behind", width: "90px", isNumber: true, render: behindOf },
  { name: "Last success", width: "130px", render: ({ lastSuccess }) => lastSuccess && <Time value={lastSuccess} /> },
  { name: "Last failure", width: "130px", render: ({ lastFailure }) => lastFailure && <Time value={lastFailure} /> },
  { name: "Created", width: "120px", render: ({ created }) => <Time value={created} /> },
];

/** The webhooks of an application. */
export function WebhooksScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/webhooks" });
  const navigate = useNavigate();
  const [isAdding, setAdding] = useState(false);
  const isEditor = useRole("editor");
  const pages = usePages(["webhooks", appid, "list"], (page, options) => send(listWebhooks(appid, page), options));
  useShortcuts(isEditor ? [{ keys: "n", label: "New webhook", run: () => setAdding(true) }] : []);
  const add = isEditor && (
    <Button kind="primary" onPress={() => setAdding(true)}>
      <Plus size={16} aria-hidden /> New webhook
    </Button>
  );
  return (
    <Page title="Webhooks" isScrolling={false} actions={pages.rows.length > 0 && add}>
      <Split>
        <DataTable
          label="Webhooks"
          columns={columns}
          pages={pages}
          idOf={({ id }) => id}
          onOpen={({ id: webhookId }) =>
            void navigate({ to: "/apps/$appid/webhooks/$webhookId", params: { appid, webhookId } })
          }
          empty={
            <EmptyState icon={WebhookIcon} title="No webhooks yet" action={add}>
              A webhook sends what happens in this application to a server of yours, signed, in order of the log, and
              again until it is accepted.
            </EmptyState>
          }
        />
      </Split>
      {isAdding && <AddWebhook appid={appid} onClose={() => setAdding(false)} />}
    </Page>
  );
}
