import { rankSimilar } from "../lib/similar.ts";
import { workerVariable } from "./worker-number.ts";

/** A variable that is not a setting, and the setting that it resembles. */
export interface MisspeltSetting {
  readonly name: string;
  readonly meant: string;
}

/** The prefix of settings of this program. */
const ownPrefix = "ROLLCALL_";
/** Other programs have names with these prefixes, so only typing mistakes are reported. */
const sharedFamilies = ["AWS_", "OTEL_"];
/** Common variables of other programs that resemble settings. */
const foreignNames = new Set(["SSL_CERT_FILE", "SSL_KEY_FILE"]);
/** Variables by which scripts find the program, or clients find a deployment. */
const aboutUs = /^ROLLCALL_(?:BIN|DIR|HOME|IMAGE|PATH|REPO|ROOT|TAG|VERSION|URL|BASE_URL|APPID|APPKEY|TOKEN|ENV_\w+)$/;

/**
 * Finds variables that are probably misspelt settings: with a typing mistake, with the prefix, or with the first words
 * of a setting. Without this check, a server with a misspelt DATABASE_URL would silently use an empty embedded
 * database.
 *
 * @param strict the names from `.env`, which is for this server only, so that a weaker resemblance is enough
 */
export function findMisspeltSettings(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
  strict: ReadonlySet<string>,
): readonly MisspeltSetting[] {
  const found: MisspeltSetting[] = [];
  for (const [name, value = ""] of Object.entries(environment)) {
    if (known.includes(name) || name === workerVariable) continue;
    const isStrict = strict.has(name);
    if (isServiceLink(name, value) || (!isStrict && (foreignNames.has(name) || aboutUs.test(name)))) continue;
    const meant = findMeant(name.toUpperCase(), known, isStrict);
    if (meant !== undefined) found.push({ name, meant });
  }
  return found;
}

function findMeant(name: string, known: readonly string[], isStrict: boolean): string | undefined {
  const [nearest] = rankSimilar(
    name,
    known.filter((each) => Math.abs(each.length - name.length) <= toleranceMax),
  );
  if (nearest !== undefined && nearest.distance <= toleranceOf(name, nearest.word, isStrict)) return nearest.word;
  if (name.startsWith(ownPrefix)) {
    const bare = name.slice(ownPrefix.length);
    return findMeant(bare, known, true) ?? rankSimilar(bare, known)[0]?.word;
  }
  return rankSimilar(
    name,
    known.filter((each) => sharesBeginning(name, each)),
  )[0]?.word;
}

/** The maximum of `toleranceOf`; words whose lengths differ by more cannot match. */
const toleranceMax = 3;

function toleranceOf(name: string, known: string, isStrict: boolean): number {
  if (known.length <= 4) return isStrict || isSlip(name, known) ? 1 : 0;
  const tolerance = known.length <= 8 ? 1 : 2;
  return isStrict ? tolerance + 1 : tolerance;
}

/**
 * Whether a short name is a typing mistake: with a missing, doubled or transposed letter. Other similar names are
 * common, such as HOSTS, PORTS, POST and SORT.
 */
function isSlip(name: string, known: string): boolean {
  const sorted = (word: string) => [...word].sort().join("");
  const isDoubled = name.length > known.length && name.replaceAll(/(.)\1/g, "$1") === known;
  return isDoubled || name.length < known.length || sorted(name) === sorted(known);
}

/**
 * Whether the name has the first two words of a setting of three or more words (RATE_LIMIT_…), or all but the last
 * (TLS_KEY).
 */
function sharesBeginning(name: string, known: string): boolean {
  const words = known.split("_");
  if (words.length < 3 || sharedFamilies.some((family) => known.startsWith(family))) return false;
  return name.startsWith(`${words.slice(0, 2).join("_")}_`) || name === words.slice(0, -1).join("_");
}

/** Whether Kubernetes or a Docker link sets the variable, to describe a service. */
function isServiceLink(name: string, value: string): boolean {
  return (
    /_SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(name) ||
    /_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name) ||
    (name.endsWith("_PORT") && /^(?:tcp|udp|sctp):\/\//.test(value)) ||
    (name.endsWith("_NAME") && /^\/[\w.-]+\/[\w.-]+$/.test(value))
  );
}
