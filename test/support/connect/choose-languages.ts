import { type Language, languageNames } from '../../../services/connect/pages/languages.ts'
import type { Random } from '../random.ts'

const page = 'services/connect/pages/'
const texts = /^services\/connect\/pages\/texts\/(\w+)\.json$/
const tests = /^test\/(?:support|system)\/connect\//

/** Number of languages that are added at random. */
const added = 2

/**
 * Choose the languages in which a run loads each page: German with its long words, each language whose texts changed, and
 * two at random. All languages if the page itself or its tests changed, or if the changes are unknown.
 */
export const chooseLanguages = (changed: readonly string[] | null, { pick }: Random): readonly Language[] => {
  const isWide = (path: string): boolean => (path.startsWith(page) && !texts.test(path)) || tests.test(path)
  if (changed === null || changed.some(isWide)) return languageNames
  const chosen = new Set(['de', ...changed.map(path => texts.exec(path)?.[1])])
  const others = (): readonly Language[] => languageNames.filter(name => !chosen.has(name))
  for (let left = added; left > 0 && others().length > 0; left -= 1) chosen.add(pick(others()))
  return languageNames.filter(name => chosen.has(name))
}
