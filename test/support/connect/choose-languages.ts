import { type Language, languageNames } from '../../../services/connect/pages/languages.ts'
import type { NamedShortForm } from '../test-run/short-form.ts'

const page = 'services/connect/pages/'
const texts = /^services\/connect\/pages\/texts\/(\w+)\.json$/
const tests = /^test\/(?:support|system)\/connect\//

/** Number of languages that are added at random. */
const added = 2

/**
 * Languages in which a run loads each page: German with its long words, each language whose texts changed, and two at
 * random. All languages if the page itself or its tests changed.
 */
export const languagesInShort: NamedShortForm<Language> = {
  file: 'test/system/connect/connect-languages.test.ts',
  variable: 'CONNECT_LANGUAGES',
  cases: languageNames,
  nameOf: name => name,
  isWide: path => (path.startsWith(page) && !texts.test(path)) || tests.test(path),
  isNeeded: (name, changed) => name === 'de' || changed.some(path => texts.exec(path)?.[1] === name),
  added: () => added,
}
