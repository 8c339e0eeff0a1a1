import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import {
  type ApplicationKey,
  type ApplicationStatistics,
  listApplicationKeys,
  readApplicationStatistics,
  type StatisticsPoint,
} from "../api/admin.ts";
import { effectiveSettingsQuery, usePages } from "../api/queries.ts";
import { known, send } from "../api/send.ts";
import { formatCount, formatNumber, formatShare, showInvisible } from "../lib/format.ts";
import Ban from "../lib/icons/ban.ts";
import Ellipsis from "../lib/icons/ellipsis.ts";
import KeyRound from "../lib/icons/key-round.ts";
import LogOut from "../lib/icons/log-out.ts";
import Pencil from "../lib/icons/pencil.ts";
import Plus from "../lib/icons/plus.ts";
import ShieldAlert from "../lib/icons/shield-alert.ts";
import Signature from "../lib/icons/signature.ts";
import TriangleAlert from "../lib/icons/triangle-alert.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { useRole } from "../shell/session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Menu, type MenuAction } from "../ui/menu.tsx";
import { Page, Split } from "../ui/page.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { EmptyState, Notice } from "../ui/states.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { KeyPanel } from "./key.panel.tsx";
import {
  CreateKey,
  CreateSigningSecret,
  DeleteSigningSecret,
  RenameKey,
  ReplaceKeys,
  RetireKey,
  RevokeTokens,
} from "./keys.dialogs.tsx";
import styles from "./keys.module.css";
import { Rotation, SharedSecret, type UsedKey } from "./keys.parts.tsx";

const columns: readonly Column<UsedKey>[] = [
  {
    name: "Name",
    width: "minmax(120px, 3fr)",
    narrow: "title",
    render: ({ label }) => (label === undefined ? "Unnamed" : showInvisible(label)),
  },
  { name: "State", width: "minmax(112px, 1fr)", narrow: "end", render: ({ state }) => <State state={state} /> },
  { name: "Id", width: "minmax(144px, 1fr)", render: ({ id }) => <IdChip id={id} /> },
  { name: "Devices", width: "84px", isNumber: true, render: ({ devices }) => formatNumber(devices) },
  {
    name: "Registrations, 24 h",
    width: "184px",
    render: ({ hours, share }) =>
      share !== undefined && (
        <span className={styles.use}>
          <Sparkline label="Registrations in the last 24 hours" values={hours} /> {formatShare(share)}
        </span>
      ),
  },
  {
    name: "Devices and share",
    width: "0",
    narrow: "line",
    isNarrowOnly: true,
    render: ({ devices, share }) =>
      formatCount(devices, "device") +
      (share === undefined ? "" : ` · ${formatShare(share)} of the registrations, 24 h`),
  },
  {
    name: "Last used",
    width: "minmax(112px, 1fr)",
    render: ({ lastRegistered }) => (lastRegistered === undefined ? "Never used" : <Time value={lastRegistered} />),
  },
  { name: "Created", width: "minmax(88px, 1fr)", render: ({ created }) => <Time value={created} /> },
];

const pageDialogs = {
  create: CreateKey,
  replace: ReplaceKeys,
  "new secret": CreateSigningSecret,
  "delete secret": DeleteSigningSecret,
};
const keyDialogs = { rename: RenameKey, revoke: RevokeTokens };

type Opened =
  | { readonly dialog: keyof typeof pageDialogs }
  | { readonly dialog: keyof typeof keyDialogs | "retire"; readonly key: ApplicationKey };

/** The keys that apps register with. */
export function KeysScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/keys" });
  const { panel, old } = useSearch({ from: "/frame/apps/$appid/keys" });
  const navigate = useNavigate({ from: "/apps/$appid/keys" });
  const [opened, setOpened] = useState<Opened>();
  const isEditor = useRole("editor");
  const pages = usePages(["keys", appid], (page, options) => send(listApplicationKeys(appid, page), options));
  const use = useKeyUse(appid);
  const rows = pages.rows.map(use);
  const active = rows.filter(({ state }) => state === "active");
  const shown = rows.find(({ id }) => id === panel);
  const areAllKnown = !pages.isPending && !pages.hasNextPage;
  const open = (dialog: keyof typeof pageDialogs) => () => setOpened({ dialog });
  useShortcuts(isEditor ? [{ keys: "n", label: "New key", run: open("create") }] : []);
  const pageActions = usePageActions(appid, open);
  const show = (id: string | undefined) => void navigate({ search: { panel: id, old }, replace: panel !== undefined });

  function actionsOf(key: ApplicationKey): MenuAction[] {
    const { state } = key;
    const rename: MenuAction = { label: "Rename …", icon: Pencil, run: () => setOpened({ dialog: "rename", key }) };
    const ends: MenuAction[] = [
      { label: "End its tokens …", icon: LogOut, isDanger: true, run: () => setOpened({ dialog: "revoke", key }) },
      { label: "Retire …", icon: Ban, isDanger: true, run: () => setOpened({ dialog: "retire", key }) },
    ];
    return isEditor ? [rename, ...(state === "active" ? ends : [])] : [];
  }

  return (
    <Page
      title="Keys"
      isScrolling={false}
      actions={
        isEditor && (
          <>
            <Menu label="More actions" items={pageActions}>
              <IconButton label="More actions">
                <Ellipsis size={18} aria-hidden />
              </IconButton>
            </Menu>
            <Button kind="primary" onPress={open("create")}>
              <Plus size={16} aria-hidden /> New key
            </Button>
          </>
        )
      }
    >
      {areAllKnown && active.length === 0 && (
        <Notice icon={TriangleAlert} isWarning>
          No key is active: no device can register.
        </Notice>
      )}
      {areAllKnown && (
        <Rotation
          keys={active}
          oldId={old}
          onOld={(id) => void navigate({ search: (before) => ({ ...before, old: id }), replace: true })}
          onRetire={isEditor ? (key) => setOpened({ dialog: "retire", key }) : undefined}
        />
      )}
      <SharedSecret appid={appid} />
      <Split>
        <DataTable
          label="Keys"
          columns={columns}
          pages={{ ...pages, rows, newest: pages.newest.map(use) }}
          idOf={({ id }) => id}
          onPanel={({ id }) => show(id)}
          openId={panel}
          actionsOf={actionsOf}
          empty={<EmptyState icon={KeyRound} title="This application has no keys" />}
        />
        {shown !== undefined && (
          <KeyPanel appid={appid} keyOfApp={shown} actions={actionsOf(shown)} onClose={() => show(undefined)} />
        )}
      </Split>
      <OpenedDialog
        opened={opened}
        appid={appid}
        isLast={areAllKnown && active.length === 1}
        onClose={() => setOpened(undefined)}
      />
    </Page>
  );
}

/** What shows whether an old key has run out: the registrations of the last 24 hours by key. */
function useKeyUse(appid: string): (key: ApplicationKey) => UsedKey {
  const { data } = useQuery({
    queryKey: ["keys", appid, "use"],
    queryFn: ({ signal }) => send(readApplicationStatistics(appid, { interval: "hour", series: "keys" }), { signal }),
    staleTime: 60_000,
  });
  const keys = data?.keys ?? [];
  const all = keys.reduce((sum, { registrations }) => sum + registrations, 0);
  return (key) => {
    const used = keys.find(({ keyId }) => keyId === key.id);
    const hours = hoursOf(data, used?.points ?? []);
    return { ...key, hours, share: all === 0 ? undefined : (used?.registrations ?? 0) / all };
  };
}

const hourMs = 3_600_000;

/** The values of all hours: those without registrations have no point. */
function hoursOf(statistics: ApplicationStatistics | undefined, points: readonly StatisticsPoint[]): number[] {
  if (statistics === undefined) return [];
  const [from, to] = [statistics.from.getTime(), statistics.to.getTime()];
  const values = Array.from({ length: (to - from) / hourMs }, () => 0);
  for (const { time, value } of points) values[(time.getTime() - from) / hourMs] = value;
  return values;
}

interface OpenedDialogProps {
  readonly opened: Opened | undefined;
  readonly appid: string;
  /** Whether only one key is active. */
  readonly isLast: boolean;
  readonly onClose: () => void;
}

function OpenedDialog({ opened, appid, isLast, onClose }: OpenedDialogProps) {
  if (opened === undefined) return null;
  if (!("key" in opened)) {
    const PageDialog = pageDialogs[opened.dialog];
    return <PageDialog appid={appid} onClose={onClose} />;
  }
  const { dialog, key } = opened;
  if (dialog === "retire") return <RetireKey appid={appid} keyOfApp={key} isLast={isLast} onClose={onClose} />;
  const KeyDialog = keyDialogs[dialog];
  return <KeyDialog appid={appid} keyOfApp={key} onClose={onClose} />;
}

/** The actions on the application; all but a new secret are for owners. */
function usePageActions(appid: string, open: (dialog: keyof typeof pageDialogs) => () => void): MenuAction[] {
  const isOwner = useRole("owner");
  const { data } = useQuery(effectiveSettingsQuery(appid));
  const hasSecret = data?.hasSigningSecret === true;
  const remove: MenuAction = {
    label: "Remove the shared secret …",
    icon: Signature,
    isDanger: true,
    run: open("delete secret"),
  };
  const replace: MenuAction = { label: "Replace all keys …", icon: ShieldAlert, isDanger: true, run: open("replace") };
  return [
    { label: hasSecret ? "New shared secret …" : "Set a shared secret …", icon: Signature, run: open("new secret") },
    ...(isOwner && hasSecret ? [remove] : []),
    ...(isOwner ? [replace] : []),
  ];
}

const states = {
  active: ["good", "Active"],
  retired: ["neutral", "Retired"],
  compromised: ["danger", "Compromised"],
} as const;

function State({ state }: { readonly state: ApplicationKey["state"] }) {
  const [kind, word] = states[known(state)];
  return <Status kind={kind}>{word}</Status>;
}
