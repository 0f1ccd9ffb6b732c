import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Functions that open an engine in the process of the test, a change of loaded modules, and a fixture that one file closes. */
const openers = /\b(?:openChdb|useMeterTables|openLmdbLog|vi\.resetModules)\(|^export const stack = /m

/** Return true if the text of a file of `test` opens an engine in its process, or loads modules again. */
export const opensEngine = (text: string): boolean => openers.test(text)

const importedFiles = (path: string, text: string): readonly string[] =>
  [...text.matchAll(/ from '(\.[^']+\.ts)'/g)]
    .map(([, imported = '']) => join(dirname(path), imported))
    .filter(file => file.startsWith('test/'))

/** Return true if a test file, or a file of `test` that it imports, opens an engine in its process. */
const isEngineTest = (path: string, seen: Set<string> = new Set()): boolean => {
  if (seen.has(path)) return false
  seen.add(path)
  const text = readFileSync(path, 'utf8')
  return opensEngine(text) || importedFiles(path, text).some(file => isEngineTest(file, seen))
}

/** Unit tests with a process of their own. All others share the process of a worker, which loads modules once. */
export const ownProcess: string[] = [
  ...globSync('test/unit/**/*.test.ts').filter(path => isEngineTest(path)),
  // They open all stores, or change the limits or the environment of their process.
  'test/unit/stores.test.ts',
  'test/unit/platform/webhook-client/webhook-http-client.test.ts',
  'test/unit/interchange/reading-import/read-bounds.test.ts',
  // The ids of a process ascend. The first creates ids of the far future, the second needs the ids of its own time.
  'test/unit/platform/ids/new-id.test.ts',
  'test/unit/platform/postgres/webhooks/webhook-queue.test.ts',
]

/** Return true if the text of a test file uses an account of a shared system and starts no system of its own. */
export const usesOnlySharedSystem = (text: string): boolean =>
  /\buseSharedSystem\(/.test(text) && !/\b(?:useSystem|startSystem|launchSystem|startPrepared)\(/.test(text)

/** Test files that need only an account of a shared system. They share the process of a worker too. */
export const ofSharedSystem: string[] = globSync('test/**/*.test.ts').filter(
  path => usesOnlySharedSystem(readFileSync(path, 'utf8')) && !isEngineTest(path),
)
