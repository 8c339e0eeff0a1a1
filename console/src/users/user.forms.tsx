import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import {
  type ChangeOperatedUserRequest,
  changeOperatedUser,
  createOperatedUser,
  type OperatedUser,
  sendPasswordReset,
} from "../api/admin.ts";
import { send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { Checkbox, TextField } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";
import { showToast } from "../ui/toast.tsx";
import { useRefreshUsers } from "./user.acts.ts";
import styles from "./users.module.css";

interface FormProps {
  readonly appid: string;
  readonly onClose: () => void;
}

interface UserFormProps extends FormProps {
  readonly user: OperatedUser;
}

/** Asks for the fields of a sign-up, and opens the new user. */
export function AddUser({ appid, onClose }: FormProps) {
  const [given, setGiven] = useState({ username: "", password: "", email: "", firstName: "", lastName: "" });
  const navigate = useNavigate();
  const refresh = useRefreshUsers(appid);
  const field = fieldsOf(given, setGiven);
  const [made, setMade] = useState<string>();

  function make() {
    const password = newPassword();
    setMade(password);
    setGiven({ ...given, password });
  }

  async function submit() {
    const { username, ...rest } = given;
    const { id, userName } = await send(createOperatedUser(appid, { userName: username, ...rest }));
    await refresh();
    showToast(`Added ${showInvisible(userName)}.`);
    await navigate({ to: "/apps/$appid/users/$userId", params: { appid, userId: id } });
  }

  return (
    <FormDialog title="Add a user" fields={Object.keys(given)} action="Add" onSubmit={submit} onClose={onClose}>
      <TextField label="User name" autoFocus isRequired autoComplete="off" {...field("username")} />
      <TextField
        label="Password"
        type={made === given.password ? "text" : "password"}
        isCode={made === given.password}
        autoComplete="new-password"
        isRequired
        hint={
          made === given.password
            ? "Give it to the user: it is shown only here. With a reset code by mail the user can set another one."
            : "4 characters or more; better, one that was made. With a reset code by mail the user can set another one."
        }
        suffix={<Button onPress={make}>Make one</Button>}
        {...field("password")}
      />
      <TextField
        label="E-mail"
        type="email"
        autoComplete="off"
        hint="For reset codes. May be empty."
        {...field("email")}
      />
      <div className={styles.names}>
        <TextField label="First name" autoComplete="off" {...field("firstName")} />
        <TextField label="Last name" autoComplete="off" {...field("lastName")} />
      </div>
    </FormDialog>
  );
}

/** Without characters that look alike, in groups that can be read out: 96 bits and more. */
function newPassword(): string {
  const letters = "abcdefghijkmnpqrstuvwxyz23456789";
  const chosen = [...crypto.getRandomValues(new Uint8Array(20))].map((byte) => letters[byte % letters.length]);
  return chosen.join("").replaceAll(/.{5}(?=.)/g, "$&-");
}

/** Changes the fields of a profile that operators may change. */
export function EditUser({ appid, user, onClose }: UserFormProps) {
  const before = editableOf(user);
  const [given, setGiven] = useState(before);
  const refresh = useRefreshUsers(appid);
  const field = fieldsOf(given, setGiven);

  async function change(fields: ChangeOperatedUserRequest) {
    await send(changeOperatedUser(appid, user.id, fields));
    await refresh();
  }

  async function submit() {
    const changed = differences(before, given);
    if (Object.keys(changed).length > 0) {
      await change(changed);
      showToast(`Changed ${showInvisible(user.userName)}.`, () => change(differences(given, before)));
    }
    onClose();
  }

  return (
    <FormDialog
      title={`Edit ${showInvisible(user.userName)}`}
      fields={Object.keys(given)}
      action="Save"
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="User name" autoFocus isRequired autoComplete="off" {...field("username")} />
      <div className={styles.names}>
        <TextField label="First name" autoComplete="off" {...field("firstName")} />
        <TextField label="Last name" autoComplete="off" {...field("lastName")} />
      </div>
      <TextField
        label="E-mail"
        type="email"
        autoComplete="off"
        hint="Reset codes go to a new address at once; the former one gets a notice."
        {...field("email")}
      />
      <Checkbox isSelected={given.celebMode} onChange={(celebMode) => setGiven({ ...given, celebMode })}>
        Hidden from others: other users neither find this user nor read the profile
      </Checkbox>
      <Checkbox
        isSelected={given.locationFuzzing}
        onChange={(locationFuzzing) => setGiven({ ...given, locationFuzzing })}
      >
        Shifted locations: others see them shifted by about a kilometre
      </Checkbox>
    </FormDialog>
  );
}

function editableOf({ userName, firstName = "", lastName = "", email = "", celebMode, locationFuzzing }: OperatedUser) {
  return { username: userName, firstName, lastName, email, celebMode, locationFuzzing };
}

type Editable = ReturnType<typeof editableOf>;

/** The fields that differ between two states. */
function differences(from: Editable, to: Editable): ChangeOperatedUserRequest {
  const former = new Map<string, unknown>(Object.entries(from));
  return Object.fromEntries(Object.entries(to).filter(([name, value]) => former.get(name) !== value));
}

/** Mails a code for a new password, after showing the address. */
export function SendReset({ appid, user: { id, userName, email = "" }, onClose }: UserFormProps) {
  const [given, setGiven] = useState({ subject: "", body: "" });
  const [isOwn, setOwn] = useState(false);
  const refresh = useRefreshUsers(appid);
  const field = fieldsOf(given, setGiven);

  async function submit() {
    await send(sendPasswordReset(appid, id, isOwn ? given : undefined));
    await refresh();
    showToast(`A reset code is on its way to ${showInvisible(email)}.`);
    onClose();
  }

  return (
    <FormDialog
      title={`Send ${showInvisible(userName)} a reset code?`}
      lead={
        <p>
          Goes to <b>{showInvisible(email)}</b>. The user types the code into the app and sets a new password, which
          ends all sign-ins. Until then nothing changes.
        </p>
      }
      fields={Object.keys(given)}
      action="Send the code"
      onSubmit={submit}
      onClose={onClose}
    >
      <Checkbox isSelected={isOwn} onChange={setOwn}>
        Write the mail myself, in place of the application’s text
      </Checkbox>
      {isOwn && (
        <>
          <TextField label="Subject" isRequired maxLength={256} {...field("subject")} />
          <TextField
            label="Text"
            isLong
            isRequired
            hint="The code stands where you write @ResetCode."
            {...field("body")}
          />
        </>
      )}
    </FormDialog>
  );
}

/** The properties of a form's text field. */
function fieldsOf<Fields extends Readonly<Record<string, unknown>>>(given: Fields, set: (next: Fields) => void) {
  return (name: keyof Fields & string) => ({
    name,
    value: String(given[name]),
    onChange: (value: string) => set({ ...given, [name]: value }),
  });
}
