import { belowPath } from "./security/below-path.ts";
import { hostileTexts } from "./security/hostile-texts.ts";
import { otherOrigins } from "./security/other-origins.ts";
import { pageSecurity } from "./security/page-security.ts";
import { uploads } from "./security/uploads.ts";
import type { Checks } from "./suite.ts";

/** Attacks of strangers, apps and other pages on the console. */
export const security: Checks = { ...pageSecurity, ...hostileTexts, ...uploads, ...otherOrigins, ...belowPath };
