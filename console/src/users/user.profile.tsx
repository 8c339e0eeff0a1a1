import type { OperatedUserWithCounts } from "../api/admin.ts";
import { formatDay, showInvisible, showOptional } from "../lib/format.ts";
import { DetailList } from "../ui/detail-list.tsx";
import { Section, Sections } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import { CountsList } from "./user.counts.tsx";
import { signInOf } from "./user.facts.tsx";

export function UserProfile({ user }: { readonly user: OperatedUserWithCounts }) {
  const { userName, firstName, lastName, email, gender, dateOfBirth, tag, disabled, created, lastModified } = user;
  return (
    <Sections>
      <Section title="Profile">
        <DetailList
          items={[
            ["User name", showInvisible(userName)],
            ["First name", showOptional(firstName)],
            ["Last name", showOptional(lastName)],
            ["E-mail", showOptional(email)],
            ["Gender", gender],
            ["Date of birth", dateOfBirth === undefined ? undefined : formatDay(dateOfBirth)],
            ["Tag", showOptional(tag)],
          ]}
        />
      </Section>
      <Section title="Privacy">
        <DetailList
          items={[
            [
              "Hidden from others",
              user.celebMode ? "Yes: other users neither find this user nor read the profile" : "No",
            ],
            [
              "Shifted locations",
              user.locationFuzzing ? "Yes: other users see locations shifted by about a kilometre" : "No",
            ],
          ]}
        />
      </Section>
      <Section title="Account">
        <DetailList
          items={[
            ["Signs in by", signInOf(user)],
            ["Last sign-in", <Time key="last" value={user.lastLogin} isExact />],
            ["Signed up", <Time key="created" value={created} isExact />],
            ["Changed", <Time key="modified" value={lastModified} isExact />],
            ["Disabled", disabled === undefined ? "No" : <Time key="disabled" value={disabled} isExact />],
          ]}
        />
      </Section>
      <Section title="What belongs to this user">
        <CountsList counts={user.counts} />
      </Section>
    </Sections>
  );
}
