import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useMatches, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { Button as AriaButton } from "react-aria-components/Button";
import { Dialog as AriaDialog } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { type Application, getApplication, listAudit } from "../api/admin.ts";
import { firstApplicationsQuery } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { useActs } from "../lib/acts.ts";
import { CallError } from "../lib/call-error.ts";
import { showInvisible } from "../lib/format.ts";
import ChevronRight from "../lib/icons/chevron-right.ts";
import ChevronsUpDown from "../lib/icons/chevrons-up-down.ts";
import CircleAlert from "../lib/icons/circle-alert.ts";
import CirclePause from "../lib/icons/circle-pause.ts";
import CircleUser from "../lib/icons/circle-user.ts";
import Clapperboard from "../lib/icons/clapperboard.ts";
import Keyboard from "../lib/icons/keyboard.ts";
import LogOut from "../lib/icons/log-out.ts";
import MenuIcon from "../lib/icons/menu.ts";
import Search from "../lib/icons/search.ts";
import { usePageTitle } from "../lib/page-title.ts";
import { usePreferences } from "../lib/preferences.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Menu } from "../ui/menu.tsx";
import { Page } from "../ui/page.tsx";
import { EmptyState, NoSuchPage, Notice, RemedyContext } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { Toasts } from "../ui/toast.tsx";
import {
  deleteLabel,
  type OpenedApplication,
  useApplicationActs,
  useRehearsalSwitch,
  useResumption,
} from "./application.acts.tsx";
import { actorName } from "./audit-words.ts";
import { FirstPassword } from "./first-password.tsx";
import styles from "./frame.module.css";
import { Mark } from "./mark.tsx";
import { applicationNavigation, deploymentNavigation, homeOf } from "./navigation.ts";
import { Palette } from "./palette.tsx";
import { PasswordQuestion } from "./proof.tsx";
import { Remedy } from "./remedy.tsx";
import { SessionEndsSoon, Unencrypted } from "./session.ends.tsx";
import { useContinueSession, useFollowingOthers, useRole, useSession, useSessionEnded } from "./session.ts";
import { ShortcutHelp } from "./shortcut-help.tsx";
import { SignInForm } from "./sign-in.form.tsx";
import { leaveConsole } from "./sign-out.ts";

/** Loaded when one is opened for the first time. */
const ApplicationDialog = lazy(() =>
  import("./application.dialogs.tsx").then((module) => ({ default: module.ApplicationDialog })),
);

/** What surrounds every screen of an operator who is signed in. */
export function Frame() {
  const [open, setOpen] = useState<"palette" | "help" | "sheet">();
  const { appid }: { appid?: string } = useParams({ strict: false });
  const { density } = usePreferences();
  const queries = useQueryClient();
  useEffect(() => {
    document.documentElement.dataset["density"] = density;
  }, [density]);
  const { operator } = useSession();
  useNavigationShortcuts(appid);
  useFollowingOthers();
  useShortcuts([
    { keys: "mod+k", label: "Find anything", run: () => setOpen("palette") },
    { keys: "?", label: "Show the shortcuts", run: () => setOpen("help") },
    { keys: ".", label: "Actions of the page", run: openPageActions, isFallback: true },
    { keys: "r", label: "Refresh", run: () => void queries.invalidateQueries() },
  ]);

  if (operator.mustChangePassword) return <FirstPassword />;
  return (
    <div className={styles.frame}>
      {appid !== undefined && <ApplicationActs key={appid} appid={appid} />}
      <a className={styles.skip} href={`${window.location.hash || "#/"}`} onClick={skipToMain}>
        Skip to the content
      </a>
      <aside className={styles.side}>
        <Switcher appid={appid} />
        <Navigation appid={appid} />
      </aside>
      <header className={styles.top}>
        <div className={styles["menu-button"]}>
          <IconButton label="Menu" onPress={() => setOpen("sheet")}>
            <MenuIcon size={20} aria-hidden />
          </IconButton>
        </div>
        <Breadcrumbs appid={appid} />
        <AriaButton className={styles.search} onPress={() => setOpen("palette")}>
          <Search size={16} aria-hidden />
          <span>Find anything</span>
          <kbd>{isApple ? "⌘" : "Ctrl"} K</kbd>
        </AriaButton>
        <div className={styles.help}>
          <IconButton label="Shortcuts of this page" onPress={() => setOpen("help")}>
            <Keyboard size={20} strokeWidth={1.75} aria-hidden />
          </IconButton>
        </div>
        <AccountMenu />
      </header>
      <main className={styles.main} id="main" tabIndex={-1}>
        <div className={styles.banners}>
          <OfflineBar />
          <Unencrypted />
          <SessionEndsSoon />
          {appid !== undefined && <ApplicationBanner appid={appid} />}
          <IgnoredParameters />
        </div>
        <RemedyContext value={Remedy}>
          <Screen appid={appid} />
        </RemedyContext>
      </main>
      {/* Not loaded later: what is typed before its field is there would go to the page. */}
      {open === "palette" && <Palette appid={appid} onClose={() => setOpen(undefined)} />}
      {open === "help" && <ShortcutHelp onClose={() => setOpen(undefined)} />}
      {open === "sheet" && <Sheet appid={appid} onClose={() => setOpen(undefined)} />}
      <SignInAgain />
      <PasswordQuestion />
      <Toasts />
    </div>
  );
}

/** Offers the acts on the application that is open to the palette, but for its deletion. */
function ApplicationActs({ appid }: { readonly appid: string }) {
  const application = useApplication(appid);
  const [opened, setOpened] = useState<OpenedApplication>();
  const actsOf = useApplicationActs(setOpened);
  const rehearsal = useRehearsalSwitch(appid)(application?.isRehearsalOn === true);
  const acts = application === undefined ? [] : actsOf(application).filter(({ label }) => label !== deleteLabel);
  const offered = acts.length === 0 ? [] : [...acts, rehearsal];
  useActs(showInvisible(application?.name ?? ""), offered, { isOfApplication: true });
  if (opened === undefined) return null;
  return (
    <Suspense>
      <ApplicationDialog opened={opened} onClose={() => setOpened(undefined)} />
    </Suspense>
  );
}

function openPageActions() {
  document.querySelector<HTMLElement>("#main [aria-label='More actions']")?.click();
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

function skipToMain(event: { preventDefault: () => void }) {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}

function useNavigationShortcuts(appid: string | undefined) {
  const navigate = useNavigate();
  const places = [...deploymentNavigation, ...(appid === undefined ? [] : applicationNavigation.flat())];
  useShortcuts(
    places.map(({ key, label, to }) => ({
      keys: `g ${key}`,
      label: `Go to ${label}`,
      run: () => void navigate({ to: to.replace("$appid", appid ?? "") }),
    })),
  );
}

function applicationQuery(appid: string | undefined) {
  return queryOptions({
    queryKey: ["application", appid],
    queryFn: ({ signal }) => send(getApplication(appid ?? ""), { signal }),
    enabled: appid !== undefined,
    staleTime: 60_000,
  });
}

function useApplication(appid: string | undefined) {
  return useQuery(applicationQuery(appid)).data;
}

function Switcher({ appid }: { readonly appid: string | undefined }) {
  const navigate = useNavigate();
  const application = useApplication(appid);
  const { data } = useQuery(firstApplicationsQuery);
  const name = appid === undefined ? "Rollcall" : showInvisible(application?.name ?? appid);
  const items = (data?.pageResults ?? []).map(({ id, name }) => ({
    label: showInvisible(name),
    isCurrent: id === appid,
    run: () => void navigate({ to: homeOf(id) ?? "/apps" }),
  }));
  return (
    <Menu
      label="Applications"
      placement="bottom start"
      items={[...items, { label: "All applications …", run: () => void navigate({ to: "/apps" }) }]}
    >
      <AriaButton className={styles.switcher} aria-label={`Application: ${name}`}>
        <Mark size={24} />
        <span>{name}</span>
        <ChevronsUpDown size={14} aria-hidden />
      </AriaButton>
    </Menu>
  );
}

function Navigation({ appid, onFollow }: { readonly appid: string | undefined; readonly onFollow?: () => void }) {
  const groups = appid === undefined ? [] : applicationNavigation;
  return (
    <>
      {groups.map((group) => (
        <nav key={group[0]?.to} className={styles.group} aria-label={`${group[0]?.label} and more`}>
          <Links group={group} appid={appid} onFollow={onFollow} />
        </nav>
      ))}
      <nav className={`${styles.group} ${groups.length > 0 ? styles.foot : ""}`} aria-label="Deployment">
        <Links group={deploymentNavigation} appid={undefined} onFollow={onFollow} />
      </nav>
    </>
  );
}

interface LinksProps {
  readonly group: (typeof applicationNavigation)[number];
  readonly appid: string | undefined;
  readonly onFollow: (() => void) | undefined;
}

function Links({ group, appid, onFollow }: LinksProps) {
  return group.map(({ to, label, icon: Icon }) => (
    <Link
      key={to}
      to={to.replace("$appid", appid ?? "")}
      className={styles.link}
      title={label}
      activeOptions={{ exact: !to.includes("$appid"), includeSearch: false }}
      onClick={onFollow}
    >
      <Icon size={18} strokeWidth={1.75} aria-hidden />
      <span>{label}</span>
    </Link>
  ));
}

function Sheet({ appid, onClose }: { readonly appid: string | undefined; readonly onClose: () => void }) {
  return (
    <ModalOverlay
      className={styles["sheet-overlay"]}
      isOpen
      isDismissable
      onOpenChange={(isOpen) => !isOpen && onClose()}
    >
      <Modal className={styles.sheet}>
        <AriaDialog aria-label="Menu">
          <Switcher appid={appid} />
          <Navigation appid={appid} onFollow={onClose} />
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

function Breadcrumbs({ appid }: { readonly appid: string | undefined }) {
  const application = useApplication(appid);
  const title = useMatches({
    select: (matches) => matches.findLast(({ staticData }) => staticData.title)?.staticData.title,
  });
  const pathname = useMatches({ select: (matches) => matches.at(-1)?.pathname ?? "" });
  const list = pathname.split("/").slice(0, listDepth).join("/");
  const object = usePageTitle();
  return (
    <nav className={styles.crumbs} aria-label="Breadcrumb">
      {appid === undefined ? (
        <span>Deployment</span>
      ) : (
        <Link to={homeOf(appid) ?? "/apps"}>{showInvisible(application?.name ?? appid)}</Link>
      )}
      {title !== undefined && (
        <>
          <ChevronRight size={14} aria-hidden />
          {pathname === list ? <span>{title}</span> : <Link to={list}>{title}</Link>}
        </>
      )}
      {pathname !== list && (
        <>
          <ChevronRight size={14} aria-hidden />
          <span className={styles.object}>{object}</span>
        </>
      )}
    </nav>
  );
}

/** The parts of the path of a list, such as `/apps/<appid>/users`; the page of a row has one more. */
const listDepth = 4;

function AccountMenu() {
  const { operator } = useSession();
  const navigate = useNavigate();
  return (
    <Menu
      label="Account"
      head={
        <>
          <b>{showInvisible(operator.name)}</b>
          {operator.role}
        </>
      }
      items={[
        { label: "Account", icon: CircleUser, run: () => void navigate({ to: "/account" }) },
        { label: "Sign out", icon: LogOut, run: () => void leaveConsole() },
      ]}
    >
      <IconButton label={`Account: ${operator.name}`}>
        <CircleUser size={20} aria-hidden />
      </IconButton>
    </Menu>
  );
}

function ApplicationBanner({ appid }: { readonly appid: string }) {
  const application = useApplication(appid);
  const isEditor = useRole("editor");
  const endRehearsal = useRehearsalSwitch(appid)(true);
  if (application?.suspended !== undefined) return <SuspendedNotice application={application} />;
  if (application?.isBeingImported)
    return (
      <Notice icon={CirclePause}>
        This application is being imported: its clients are served once all of it is here.
      </Notice>
    );
  if (application?.movingTo !== undefined)
    return <Notice icon={CirclePause}>This application is moving to the region {application.movingTo}.</Notice>;
  if (application?.isRehearsalOn === true)
    return (
      <Notice
        icon={Clapperboard}
        isWarning
        action={
          isEditor && (
            <Button size="small" onPress={endRehearsal.run}>
              End it
            </Button>
          )
        }
      >
        <Link to="/apps/$appid/rehearsals" params={{ appid }}>
          Rehearsal
        </Link>{" "}
        is on: any client of this application can ask for failures.
      </Notice>
    );
  return null;
}

function SuspendedNotice({ application }: { readonly application: Application }) {
  const { id: appid, suspended, movingTo } = application;
  const isEditor = useRole("editor");
  const resume = useResumption();
  const { data } = useQuery({
    queryKey: ["audit", appid, "suspension", suspended],
    queryFn: ({ signal }) =>
      send(listAudit({ appid, action: "suspendApplication", refused: false, pageSize: 1 }), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [entry] = data?.pageResults ?? [];
  return (
    <Notice
      icon={CirclePause}
      isWarning
      action={
        isEditor &&
        movingTo === undefined && (
          <Button size="small" onPress={() => void resume(application)}>
            Resume
          </Button>
        )
      }
    >
      This application is suspended: all calls of its clients are refused.
      {suspended !== undefined && (
        <>
          {" "}
          {entry === undefined ? "Since" : `By ${showInvisible(actorName(entry))},`} <Time value={suspended} />.
        </>
      )}
    </Notice>
  );
}

/** The screen of the address. The server refuses all calls of a screen whose application does not exist, or is being imported. */
function Screen({ appid }: { readonly appid: string | undefined }) {
  const { data: application, error } = useQuery(applicationQuery(appid));
  if (application === undefined && error instanceof CallError && (error.status === 404 || error.status === 400))
    return <NoSuchPage what="application" />;
  if (!application?.isBeingImported) return <Outlet />;
  return (
    <Page title={showInvisible(application.name)}>
      <EmptyState
        icon={CirclePause}
        title="Its screens open once all of it is here"
        action={<Link to="/apps">All applications</Link>}
      />
    </Page>
  );
}

/** A link with a parameter that its screen does not have would show more than its author meant. */
function IgnoredParameters() {
  const ignored = useRouterState({
    select: ({ location, resolvedLocation, matches }) => {
      if (location.href !== resolvedLocation?.href) return ""; // during a navigation, the matches may belong to either page
      const accepted = matches.at(-1)?._strictSearch ?? {};
      return Object.keys(location.search)
        .filter((name) => !(name in accepted))
        .join(", ");
    },
  });
  if (ignored === "") return null;
  return (
    <Notice icon={CircleAlert} isWarning>
      This screen ignores a part of the address: {showInvisible(ignored)}.
    </Notice>
  );
}

/** Shows the sign-in above the page, which retains unsaved input. */
function SignInAgain() {
  const hasEnded = useSessionEnded();
  const { operator } = useSession();
  const continueSession = useContinueSession();
  if (!hasEnded) return null;
  return (
    <Dialog title="Your session has ended" isSticky onClose={() => undefined}>
      <p>Sign in again to go on where you are. Nothing that you typed is lost.</p>
      <SignInForm name={operator.name} onSignedIn={continueSession} />
    </Dialog>
  );
}

function OfflineBar() {
  const isOnline = useSyncExternalStore(subscribeOnline, () => navigator.onLine);
  if (isOnline) return null;
  return (
    <p className={styles.offline} role="status">
      This browser is offline.
    </p>
  );
}

function subscribeOnline(listener: () => void): () => void {
  window.addEventListener("online", listener);
  window.addEventListener("offline", listener);
  return () => {
    window.removeEventListener("online", listener);
    window.removeEventListener("offline", listener);
  };
}
