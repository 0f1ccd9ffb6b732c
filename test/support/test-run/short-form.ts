import { type Random, seededRandom } from '../random.ts'
import { changedFiles } from './changed-files.ts'
import { runSeed } from './run-seed.ts'

/** Cases of a test file that a run may leave out. */
export type ShortForm<Case> = {
  readonly cases: readonly Case[]
  /** Return true if a change of the path plays all cases. */
  readonly isWide: (path: string) => boolean
  /** Return true if a run plays the case, for example because one of the paths is its code. Default: false. */
  readonly isNeeded?: (one: Case, changed: readonly string[]) => boolean
  /** Number of cases that are added at random, given the number of the cases that are not needed. */
  readonly added: (others: number) => number
}

/** Short form with the texts that name it. */
export type NamedShortForm<Case> = ShortForm<Case> & {
  /** Path of the test file. */
  readonly file: string
  /** Variable that plays all cases if its value is `all`. */
  readonly variable: string
  readonly nameOf: (one: Case) => string
}

/** Longest list of names that is printed. */
const maxNames = 12

/** Return a function that is true for each path that begins with one of the given beginnings. */
export const beginsWithOneOf =
  (beginnings: readonly string[]) =>
  (path: string): boolean =>
    beginnings.some(beginning => path.startsWith(beginning))

/**
 * Choose the cases of a short form, in their order: the needed ones, and some of the others at random. All cases if a wide path
 * changed, or if the changes are unknown.
 */
export const chooseCases = <Case>(
  { cases, isWide, isNeeded = () => false, added }: ShortForm<Case>,
  changed: readonly string[] | null,
  { below }: Random,
): readonly Case[] => {
  if (changed === null || changed.some(isWide)) return cases
  const [needed = [], others = []] = [true, false].map(is => cases.filter(one => isNeeded(one, changed) === is))
  const chosen = new Set(needed)
  for (let left = Math.min(added(others.length), others.length); left > 0; left -= 1)
    for (const one of others.splice(below(others.length), 1)) chosen.add(one)
  return cases.filter(one => chosen.has(one))
}

/** Return the line that says what a run leaves out and which command plays all; an empty text if the run plays all. */
export const leftOutText = <Case>(
  { file, variable, cases, nameOf }: Pick<NamedShortForm<Case>, 'file' | 'variable' | 'cases' | 'nameOf'>,
  chosen: readonly Case[],
): string => {
  const leftOut = cases.filter(one => !chosen.includes(one))
  if (leftOut.length === 0) return ''
  const names = leftOut.length > maxNames ? '' : `, without: ${leftOut.map(nameOf).join('; ')}`
  return `${file} plays ${chosen.length} of ${cases.length}${names}. All: ${variable}=all npm test -- ${file}\n`
}

/** Choose the cases of this run by its changes and its seed. Print what the run leaves out. */
export const casesOfRun = <Case>(form: NamedShortForm<Case>): readonly Case[] => {
  const chosen =
    process.env[form.variable] === 'all' ? form.cases : chooseCases(form, changedFiles(), seededRandom(runSeed()))
  process.stdout.write(leftOutText(form, chosen))
  return chosen
}
