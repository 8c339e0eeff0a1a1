import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { type OperatedUser, type SearchOperatedUsersQuery, searchOperatedUsers } from "../api/admin.ts";
import { type PageParameters, usePages } from "../api/queries.ts";
import { type CallOptions, queryOf, send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import Plus from "../lib/icons/plus.ts";
import Users from "../lib/icons/users.ts";
import { Avatar } from "../shell/avatar.tsx";
import { useRole } from "../shell/session.ts";
import { testCallersFilter, testTag } from "../shell/test-callers.ts";
import { Button } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { dateFilter, rangeSince } from "../ui/date-filter.ts";
import type { Filter, FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { ListBar } from "../ui/list-bar.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Page, Split } from "../ui/page.tsx";
import { Snippet } from "../ui/snippet.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { type OpenedDialog, useUserActs } from "./user.acts.ts";
import { UserDialog } from "./user.dialogs.tsx";
import { ErasuresInProgress } from "./user.erasures.tsx";
import { fullNameOf, signInOf, UserState } from "./user.facts.tsx";
import { AddUser } from "./user.forms.tsx";
import { UserPanel } from "./user.panel.tsx";

const columnsOf = (appid: string): readonly Column<OperatedUser>[] => [
  {
    name: "Picture",
    width: "36px",
    narrow: "lead",
    isNameHidden: true,
    render: (user) => <Avatar appid={appid} user={user} />,
  },
  { name: "User name", width: "minmax(150px, 1.6fr)", narrow: "title", render: (user) => showInvisible(user.userName) },
  { name: "Name", width: "minmax(130px, 1.4fr)", render: (user) => fullNameOf(user) },
  {
    name: "E-mail",
    width: "minmax(200px, 2.4fr)",
    narrow: "line",
    render: ({ email }) => email !== undefined && showInvisible(email),
  },
  { name: "State", width: "104px", narrow: "end", render: (user) => <UserState user={user} /> },
  { name: "Last sign-in", width: "124px", render: ({ lastLogin }) => <Time value={lastLogin} /> },
  { name: "Signed up", width: "124px", render: ({ created }) => <Time value={created} /> },
  { name: "Signs in by", width: "116px", render: signInOf },
  { name: "Id", width: "52px", render: ({ id }) => <IdChip id={id} isIcon /> },
];

const filters: readonly Filter[] = [
  {
    name: "disabled",
    label: "State",
    options: [
      { value: "false", label: "Active" },
      { value: "true", label: "Disabled" },
    ],
  },
  dateFilter("created", "Signed up"),
  dateFilter("lastModified", "Changed"),
  testCallersFilter,
];

const orders = [
  { value: "-created", label: "Newest first" },
  { value: "created", label: "Oldest first" },
  { value: "-lastLogin", label: "Last sign-in" },
  { value: "-lastModified", label: "Last changed" },
  { value: "userName", label: "User name" },
];

export function UsersScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/users" });
  const { panel, ...search } = useSearch({ from: "/frame/apps/$appid/users" });
  const navigate = useNavigate({ from: "/apps/$appid/users" });
  const [opened, setOpened] = useState<OpenedDialog>();
  const [isAdding, setAdding] = useState(false);
  const isEditor = useRole("editor");
  const { actionsOf } = useUserActs(appid, setOpened);
  const found = usePages(["users", appid, "list", search], (page, options) => findUsers(appid, search, page, options));
  const isShown = ({ tag }: OperatedUser) => search.testCallers === "shown" || tag !== testTag;
  const pages = {
    ...found,
    rows: withoutRepetitions(found.rows).filter(isShown),
    newest: found.newest.filter(isShown),
  };
  const columns = useMemo(() => columnsOf(appid), [appid]);
  const shown = pages.rows.find(({ id }) => id === panel);
  const { sortOrder, ...narrowing } = search;
  const chips = {
    filters,
    values: search,
    onChange: changeFilters,
    search: { name: "q", label: "Name, e-mail, identity or id" },
  };
  const isFiltered = Object.values(narrowing).some((value) => value !== undefined);

  function changeFilters(values: FilterValues) {
    const text = values["q"] ?? "";
    if (userIdPattern.test(text)) openUser(text);
    else void navigate({ search: { ...values, panel: undefined }, replace: true });
  }

  function openUser(userId: string) {
    void navigate({ to: "/apps/$appid/users/$userId", params: { appid, userId } });
  }

  function showPanel(id: string | undefined) {
    void navigate({ search: { ...search, panel: id }, replace: panel !== undefined });
  }

  return (
    <Page
      title="Users"
      isScrolling={false}
      actions={
        isEditor && (
          <Button kind="primary" onPress={() => setAdding(true)}>
            <Plus size={16} aria-hidden /> Add a user
          </Button>
        )
      }
    >
      <ListBar orders={orders} {...chips} />
      <ErasuresInProgress appid={appid} />
      <Split>
        <DataTable
          label="Users"
          columns={columns}
          pages={pages}
          idOf={({ id }) => id}
          onOpen={({ id }) => openUser(id)}
          onPanel={({ id }) => showPanel(id)}
          openId={panel}
          actionsOf={actionsOf}
          empty={isFiltered ? <NothingFound {...chips} /> : <NoUsers appid={appid} />}
        />
        {shown !== undefined && (
          <UserPanel
            appid={appid}
            user={shown}
            actions={actionsOf(shown)}
            onOpen={() => openUser(shown.id)}
            onClose={() => showPanel(undefined)}
          />
        )}
      </Split>
      {isAdding && <AddUser appid={appid} onClose={() => setAdding(false)} />}
      <UserDialog appid={appid} opened={opened} onClose={() => setOpened(undefined)} />
    </Page>
  );
}

const userIdPattern = /^usr_[0-9a-z]{26}$/;

/** A page of users. The first page starts with matches by identity and by the beginning of a first or last name. */
async function findUsers(appid: string, { q, ...others }: Search, page: PageParameters, options: CallOptions) {
  const finding = send(searchOperatedUsers(appid, { ...readFilters({ q, ...others }), ...page }), options);
  if (q === undefined || page.pagingToken !== undefined) return finding;
  const alike = readFilters(others);
  const [found, holders, namesakes] = await Promise.all([
    finding,
    send(searchOperatedUsers(appid, { ...alike, identityProviderID: q, pageSize: holdersMax }), options),
    send(searchOperatedUsers(appid, { ...alike, name: q, pageSize: namesakesMax }), options),
  ]);
  return { ...found, pageResults: [...holders.pageResults, ...namesakes.pageResults, ...found.pageResults] };
}

const holdersMax = 20;
/** As many as the server finds. */
const namesakesMax = 100;

/** A user may be found in several ways. */
function withoutRepetitions(users: readonly OperatedUser[]): OperatedUser[] {
  const ids = new Set<string>();
  return users.filter(({ id }) => !ids.has(id) && ids.add(id));
}

type Search = Partial<Record<"q" | "testCallers" | "disabled" | "created" | "lastModified" | "sortOrder", string>>;

function readFilters({ q, disabled, created, lastModified, sortOrder }: Search): SearchOperatedUsersQuery {
  return queryOf<SearchOperatedUsersQuery>({
    ...(q !== undefined && (q.includes("@") ? { emailPrefix: q } : { userNamePrefix: q })),
    disabled,
    created: rangeSince(created),
    lastModified: rangeSince(lastModified),
    sortOrder,
  });
}

function NoUsers({ appid }: { readonly appid: string }) {
  return (
    <EmptyState
      icon={Users}
      title="No user has signed up yet"
      action={
        <Snippet
          text={`curl ${new URL("../..", window.location.href)}users \\
  -H 'Authorization: Service <accessToken of a device>' \\
  -d '{"username": "ada", "password": "correct horse"}'`}
        />
      }
    >
      Users sign up from an app, with the token of a device. This call makes the first one, and{" "}
      <Link to="/apps/$appid/start" params={{ appid }}>
        Start
      </Link>{" "}
      shows all of them.
    </EmptyState>
  );
}
