import { resolveCrash } from "./jobs/crash.ts";
import { endSessionWhileTyping } from "./jobs/ended-session.ts";
import { rotateLeakedKey } from "./jobs/leaked-key.ts";
import { changeLimits } from "./jobs/limits.ts";
import { lookAround } from "./jobs/look-around.ts";
import { startFromNothing } from "./jobs/newcomer.ts";
import { findAnything } from "./jobs/palette.ts";
import { configureApplication } from "./jobs/settings-document.ts";
import { supportUser } from "./jobs/support.ts";
import { changeSettingTogether } from "./jobs/two-operators.ts";
import { lookAsViewer } from "./jobs/viewer.ts";
import { tellOthers } from "./jobs/webhook.ts";
import type { Checks } from "./suite.ts";

/** The tasks of operators in the console. Each runs by mouse and by keyboard only. */
export const jobs: Checks = {
  "a newcomer creates an application, runs the snippets in a shell and sees each step ticked": startFromNothing,
  "a user is found by e-mail, disabled, enabled by Undo, signed out, exported and erased": supportUser,
  "a key is known to strangers: numbers first, a new key, and the old one retired": rotateLeakedKey,
  "a crash is resolved in a version: an older report is counted, and a newer one opens it again": resolveCrash,
  "limits are changed, felt by a device, and undone": changeLimits,
  "two operators change one setting: both versions are shown, and nothing is lost": changeSettingTogether,
  "a session ends in the midst of typing, and what was typed is saved after another sign-in": endSessionWhileTyping,
  "what goes on is seen in the overview, a refused call in the requests, and a change in the audit log": lookAround,
  "users, devices, applications and acts are found by their names, addresses and ids": findAnything,
  "settings are saved part by part and as one document, and the application is suspended and deleted":
    configureApplication,
  "a webhook is made with its secret shown once, tested, paused, changed and deleted; an event is sent to it again":
    tellOthers,
  "a viewer is offered nothing that changes an application, and granted nothing": lookAsViewer,
};
