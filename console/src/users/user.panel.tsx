import type { OperatedUser } from "../api/admin.ts";
import { showInvisible } from "../lib/format.ts";
import ArrowRight from "../lib/icons/arrow-right.ts";
import { Avatar } from "../shell/avatar.tsx";
import { Button } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Panel } from "../ui/page.tsx";
import { PanelActions } from "../ui/panel-actions.tsx";
import { Time } from "../ui/time.tsx";
import { fullNameOf, signInOf, UserState } from "./user.facts.tsx";
import styles from "./users.module.css";

interface UserPanelProps {
  readonly appid: string;
  readonly user: OperatedUser;
  readonly actions: readonly MenuAction[];
  readonly onOpen: () => void;
  readonly onClose: () => void;
}

export function UserPanel({ appid, user, actions, onOpen, onClose }: UserPanelProps) {
  const { id, userName, email, created, lastLogin } = user;
  return (
    <Panel title={showInvisible(userName)} before={<Avatar appid={appid} user={user} />} onClose={onClose}>
      <DetailList
        items={[
          ["Id", <IdChip key="id" id={id} />],
          ["State", <UserState key="state" user={user} />],
          ["Name", fullNameOf(user)],
          ["E-mail", email === undefined ? undefined : showInvisible(email)],
          ["Signs in by", signInOf(user)],
          ["Last sign-in", <Time key="last" value={lastLogin} isExact />],
          ["Signed up", <Time key="created" value={created} isExact />],
        ]}
      />
      <div className={styles.actions}>
        <Button kind="primary" onPress={onOpen}>
          <ArrowRight size={16} aria-hidden /> Open
        </Button>
        <PanelActions actions={actions} />
      </div>
    </Panel>
  );
}
